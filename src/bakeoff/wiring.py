"""The composition root: settings, spec and folder put together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.report import Report
from bakeoff.core.specs import RunSpec
from bakeoff.engines.options import EngineOptions
from bakeoff.jobs.events import EventSink, silent
from bakeoff.jobs.run import RunOptions, run_folder
from bakeoff.jobs.run import run as carry_out
from bakeoff.jobs.specfile import load_spec, named, parse_spec
from bakeoff.settings import Settings

GRACE_SECONDS = 5.0
"""How long an interrupt waits for a run that is just beginning."""


def read_spec(spec: RunSpec | Mapping[str, Any] | str | os.PathLike[str]) -> tuple[RunSpec, Path]:
    """A spec from wherever it comes, and the folder its relative paths start from.

    Raises:
        InvalidSpec: it does not describe a run.
    """
    if isinstance(spec, RunSpec):
        return spec, Path.cwd()
    if isinstance(spec, Mapping):
        return parse_spec(spec), Path.cwd()
    if not isinstance(spec, (str, os.PathLike)):
        raise InvalidSpec(
            f"a spec is a file's name, a mapping or a RunSpec, and not {type(spec).__name__}"
        )
    path = Path(spec)
    return load_spec(path), path.resolve().parent


async def run_async(
    spec: RunSpec | Mapping[str, Any] | str | os.PathLike[str],
    *,
    runs: str | os.PathLike[str] | None = None,
    base: str | os.PathLike[str] | None = None,
    emit: EventSink = silent,
    **options: Any,
) -> Report:
    """`run` for programs that have an event loop already; see there."""
    settings = Settings.read()
    parsed, beside = read_spec(spec)
    file = Path(spec) if isinstance(spec, (str, os.PathLike)) else None
    folder = run_folder(parsed, Path(runs) if runs is not None else settings.runs)
    engine = options.pop("engine", None) or EngineOptions(threads=settings.threads)
    chosen = RunOptions(
        folder=folder,
        base=Path(base) if base is not None else beside,
        emit=emit,
        engine=engine,
        **options,
    )
    with nullcontext() if file is None else named(file):
        return await carry_out(parsed, chosen)


def run(
    spec: RunSpec | Mapping[str, Any] | str | os.PathLike[str],
    *,
    runs: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    wait: float = 0.0,
    stdin: BinaryIO | None = None,
) -> Report:
    """Carry out a spec; the same spec resumes, and reuses every row that is still right.

    Args:
        spec: a file, a mapping, or a `RunSpec`. Relative paths inside a file are taken from the
            file's folder, otherwise from the working directory.
        runs: folder under which the run's folder is made; default `runs`.
        fresh: make all rows anew.
        wait: seconds to wait for another process that holds the run's folder.
        stdin: what `dataset: -` reads; default: the process's standard input.

    Returns:
        The report, as report.json holds it.

    Raises:
        BakeoffError: see `bakeoff.core.errors`; a mistake in the spec starts nothing.
    """
    carried_out = run_async(spec, runs=runs, fresh=fresh, wait=wait, stdin=stdin)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(carried_out)
    return _beside(carried_out)  # a notebook's cells run inside an event loop


def _beside(work: Coroutine[Any, Any, Report]) -> Report:
    """Carry out on a thread of its own; an interrupt here cancels the work there."""
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Report]]] = Future()
    done: Future[Report] = Future()

    async def told() -> Report:
        task = asyncio.ensure_future(work)
        begun.set_result((asyncio.get_running_loop(), task))
        return await task

    def carry_out_there() -> None:
        try:
            done.set_result(asyncio.run(told()))
        except BaseException as problem:  # also a cancelled task: whoever waits is told
            done.set_exception(problem)

    thread = Thread(target=carry_out_there, name="bakeoff")
    try:
        thread.start()
        return done.result()
    except KeyboardInterrupt:
        with suppress(TimeoutError, RuntimeError):  # it has not begun, or is over
            loop, task = begun.result(timeout=GRACE_SECONDS)
            loop.call_soon_threadsafe(task.cancel)
            thread.join()
        raise
