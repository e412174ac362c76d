"""Carry out a spec from the command line: progress, signals, the leaderboard, the exit code."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from bakeoff.cli.flagwords import Wording
from bakeoff.cli.leaderboard import print_report
from bakeoff.cli.leaving import RESUMES, say_and_leave
from bakeoff.cli.progress import make_progress
from bakeoff.core.codes import ExitCode
from bakeoff.core.errors import Interrupted
from bakeoff.core.report import Report
from bakeoff.core.specs import RunSpec
from bakeoff.engines.options import EngineOptions
from bakeoff.settings import Settings
from bakeoff.wiring import run_async

GRACE_SECONDS = 5.0
"""How long a run may take to end in its own way after the first signal."""
BUSY_SECONDS = 0.3
"""How long the event loop may be busy (planning, scoring, waiting for the lock) before it is left
where it stands."""


@dataclass(frozen=True, slots=True)
class Carrying:
    """The flags of `bakeoff run`."""

    base: Path
    runs: Path | None
    fresh: bool
    wait: float
    json: bool
    quiet: bool
    engine: EngineOptions
    latency_rows: int
    wording: Wording = str


@dataclass(frozen=True, slots=True)
class Told:
    """The report of a run, and the notices that were shown while it went on."""

    report: Report
    said: frozenset[str]


def carry_out(spec: RunSpec, flags: Carrying) -> Report:
    """Run, print the leaderboard, and leave with the exit code that fits.

    Raises:
        typer.Exit: always, unless everything went well.
        BakeoffError: the run could not be carried out.
    """
    told = run_with_progress(spec, flags)
    if not flags.json:
        print_report(told.report, _folder(spec, flags), told.said, flags.wording)
    code = exit_code(told.report)
    if code is not ExitCode.OK:
        raise typer.Exit(int(code))
    return told.report


def run_with_progress(spec: RunSpec, flags: Carrying) -> Told:
    """Run and show progress; Ctrl-C and SIGTERM end it cleanly.

    Raises:
        Interrupted: a signal came; what is finished is in the journal.
        BakeoffError: the run could not be carried out.
    """
    progress = make_progress(json=flags.json, quiet=flags.quiet, wording=flags.wording)
    report = None
    with progress, suppress(KeyboardInterrupt):
        report = asyncio.run(_interruptible(spec, flags, progress.emit))
    if report is None:
        raise Interrupted(RESUMES)
    progress.report(report)
    return Told(report, frozenset(progress.said))


def _folder(spec: RunSpec, flags: Carrying) -> Path:
    return (flags.runs or Settings.read().runs) / spec.name


def exit_code(report: Report) -> ExitCode:
    """What the shell is told."""
    if report.status == "stopped-early":
        return ExitCode.STOPPED_EARLY
    models = report.models.values()
    if models and all(m.rows and m.failures == m.rows for m in models):
        return ExitCode.RUN_FAILED
    return ExitCode.PARTIAL if any(m.failures for m in models) else ExitCode.OK


async def _interruptible(
    spec: RunSpec, flags: Carrying, emit: Callable[[Any], None]
) -> Report | None:
    """The report, or None where a signal came.

    It does not raise then: asyncio prints the traceback of a task that fails while it closes.
    """
    task = asyncio.ensure_future(_run(spec, flags, emit))
    with _signals(task):
        try:
            return await task
        except asyncio.CancelledError:
            return None


async def _run(spec: RunSpec, flags: Carrying, emit: Callable[[Any], None]) -> Report | None:
    engine = flags.engine
    if engine.threads is None:
        engine = replace(engine, threads=Settings.read().threads)
    try:
        return await run_async(
            spec,
            runs=flags.runs,
            base=flags.base,
            emit=emit,
            fresh=flags.fresh,
            wait=flags.wait,
            engine=engine,
            latency_rows=flags.latency_rows,
        )
    except KeyboardInterrupt:
        return None


@contextmanager
def _signals(task: asyncio.Future[Report | None]) -> Iterator[None]:
    """First Ctrl-C or SIGTERM: cancel; when that takes too long, or on the second: raise.

    A signal that comes later still, while threads are joined, ends the process at once.
    """
    loop = asyncio.get_running_loop()
    seen: list[int] = []

    def cancel() -> None:
        task.cancel()
        signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS, GRACE_SECONDS)

    def handle(number: int, frame: FrameType | None) -> None:
        if seen or number == signal.SIGALRM:
            raise KeyboardInterrupt
        seen.append(number)
        loop.call_soon_threadsafe(cancel)
        signal.setitimer(signal.ITIMER_REAL, BUSY_SECONDS, GRACE_SECONDS)

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, old in before.items():
            again = say_and_leave if seen and number != signal.SIGALRM else old
            signal.signal(number, again)
