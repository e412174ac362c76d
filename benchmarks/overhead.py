"""What bakeoff costs over the bare engine with the same batches, on 1,000 rows."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from bakeoff.core.requests import GenerateRequest, GenerationParams, Source
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from bakeoff.jobs.events import Event, ModelFinished, ModelReady
from bakeoff.wiring import run_async
from benchmarks.apart import apart
from benchmarks.models import t5_small
from benchmarks.results import Result

ROWS = 1000
NEW = 16
PASSES = 2


def measure(threads: int, scale: float) -> Iterator[Result]:
    """Generation inside a run over the engine alone; passes alternate, the best of each counts."""
    rows = max(64, int(ROWS * scale))
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        model = t5_small(folder)
        texts = [
            f"row {n}: " + " ".join(str(n * k % 97) for k in range(n % 40)) for n in range(rows)
        ]
        (folder / "d.csv").write_text(
            "id,text\n" + "".join(f"{n},{t}\n" for n, t in enumerate(texts))
        )
        bare, run = [], []
        for number in range(PASSES):
            bare.append(apart(_timed, _bare, model, texts, threads))
            run.append(apart(_timed, _run, folder, model.name, number, threads))
    yield Result(
        "1,000 rows: run over bare engine", 100 * (min(run) / min(bare) - 1), "%", 5.0, "at most"
    )


def _timed(call: Callable[..., Coroutine[Any, Any, float]], *arguments: Any) -> float:
    return asyncio.run(call(*arguments))


async def _bare(model: Any, texts: list[str], threads: int) -> float:
    params = GenerationParams(max_new_tokens=NEW, min_new_tokens=NEW, temperature=0.0, num_beams=1)
    requests = [
        GenerateRequest(str(n), Source(text), params, truncate="cut")
        for n, text in enumerate(texts)
    ]
    engine = await open_engine("transformers", describe(model), EngineOptions(threads=threads))
    await engine.generate(requests[:4])
    started = time.perf_counter()
    await engine.generate(requests)
    seconds = time.perf_counter() - started
    await engine.close()
    return seconds


async def _run(folder: Path, model: str, number: int, threads: int) -> float:
    seen: dict[str, float] = {}

    def emit(event: Event) -> None:
        if isinstance(event, (ModelReady, ModelFinished)):
            seen[type(event).__name__] = time.perf_counter()

    spec = {
        "name": f"r{number}",
        "dataset": "d.csv",
        "columns": {"id": "id", "source": "text"},
        "task": "text-generation",
        "generation": {"max_new_tokens": NEW, "min_new_tokens": NEW},
        "metrics": [],
        "models": [{"id": "t5", "model": model, "engine": "transformers"}],
    }
    engine = EngineOptions(threads=threads)
    await run_async(
        spec, runs=folder / "runs", base=folder, emit=emit, latency_rows=0, engine=engine
    )
    return seen["ModelFinished"] - seen["ModelReady"]
