"""The composition root: settings, spec and folder put together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from bakeoff.core.report import Report
from bakeoff.core.specs import RunSpec
from bakeoff.engines.options import EngineOptions
from bakeoff.jobs.events import EventSink, silent
from bakeoff.jobs.run import RunOptions, run_folder
from bakeoff.jobs.run import run as carry_out
from bakeoff.jobs.specfile import load_spec, parse_spec
from bakeoff.settings import Settings


def read_spec(spec: RunSpec | Mapping[str, Any] | str | os.PathLike[str]) -> tuple[RunSpec, Path]:
    """A spec from wherever it comes, and the folder its relative paths start from.

    Raises:
        InvalidSpec: it does not describe a run.
    """
    if isinstance(spec, RunSpec):
        return spec, Path.cwd()
    if isinstance(spec, Mapping):
        return parse_spec(spec), Path.cwd()
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
    folder = run_folder(parsed, Path(runs) if runs is not None else settings.runs)
    engine = options.pop("engine", None) or EngineOptions(threads=settings.threads)
    chosen = RunOptions(
        folder=folder,
        base=Path(base) if base is not None else beside,
        emit=emit,
        engine=engine,
        **options,
    )
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

    def carried_out() -> Report:
        return asyncio.run(run_async(spec, runs=runs, fresh=fresh, wait=wait, stdin=stdin))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return carried_out()
    with ThreadPoolExecutor(1) as beside:  # a notebook's cells run inside an event loop
        return beside.submit(carried_out).result()
