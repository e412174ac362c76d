"""A run with 100,000 finished rows starts generating soon after its engine is ready."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bakeoff.jobs.events import Event, ModelReady, RowsDone
from bakeoff.wiring import run_async
from benchmarks.results import Result


def measure(threads: int, scale: float) -> Iterator[Result]:
    """Seconds from the engine being ready to the first new row in the journal."""
    rows = int(100_000 * scale)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        _write(folder, rows)
        _run(folder)
        _write(folder, rows + 100)
        seconds = _run(folder)
    yield Result(
        "100,000 finished rows: engine ready to first new row", seconds, "s", 3.0, "at most"
    )


def _write(folder: Path, rows: int) -> None:
    lines = (f"{n},this is row {n}\n" for n in range(rows))
    (folder / "d.csv").write_text("id,text\n" + "".join(lines))


def _run(folder: Path) -> float:
    seen: dict[str, float] = {}

    def emit(event: Event) -> None:
        if isinstance(event, (ModelReady, RowsDone)):
            seen.setdefault(type(event).__name__, time.perf_counter())

    spec = {
        "name": "r",
        "dataset": "d.csv",
        "columns": {"id": "id", "source": "text"},
        "task": "text-generation",
        "metrics": [],
        "models": ["fake://upper"],
    }
    asyncio.run(run_async(spec, runs=folder / "runs", base=folder, emit=emit))
    return seen["RowsDone"] - seen["ModelReady"]
