"""What `auto` takes against one-by-one `generate` and against the best bare engines."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerateRequest, GenerationParams
from bakeoff.engines import describe, open_engine
from bakeoff.engines.needs import Needs
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.route import route
from benchmarks.bare import bare_load_seconds, best_bare_ct2, best_bare_transformers
from benchmarks.generation import ALONE, ROWS, OneByOne, engine_speed, requests
from benchmarks.models import bart_base, smol, t5_small
from benchmarks.results import Result

GREEDY = GenerationParams(max_new_tokens=64, temperature=0.0, num_beams=1)
NOISE = 0.97
"""Two runs of the same code differ by as much on a machine that does other things."""


@dataclass(frozen=True)
class Case:
    """A model, and what is promised for it: one-by-one ratios on *even* and *real*."""

    name: str
    make: Callable[[Path], ModelRef]
    even: float
    real: float


CASES = (
    Case("T5-small size", t5_small, 2.8, 2.8),
    Case("BART-base size", bart_base, 2.2, 2.2),
    Case("SmolLM2-135M", smol, 5.0, 2.2),
)


def measure(threads: int, scale: float) -> Iterator[Result]:
    """Ratios within one process; each engine on the same rows."""
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            ref = case.make(Path(folder))
            for load in ("even", "real"):
                yield from _against(case, ref, load, threads, scale)
            if describe(ref).capabilities.kind == "seq2seq":
                yield from _variants(case, ref, threads, scale)
                yield _loading(case, ref, threads)


def _against(case: Case, ref: ModelRef, load: str, threads: int, scale: float) -> Iterator[Result]:
    rows = requests(load, max(16, int(ROWS * scale)))
    alone = rows[:: max(1, len(rows) // max(4, int(ALONE * scale)))]
    facts = describe(ref)
    slow = OneByOne(facts, threads)
    before = slow.speed(alone[0::2])
    taken, speed = _auto(ref, rows, threads)
    after = slow.speed(alone[1::2])
    what = f"{case.name}, {load}"
    yield Result(f"{what}: auto ({taken})", speed, "t/s")
    yield Result(
        f"{what}: auto / one by one", 2 * speed / (before + after), "x", getattr(case, load)
    )
    bare = {"transformers": best_bare_transformers(slow.model, rows)}
    bare["ctranslate2"] = best_bare_ct2(facts, rows)
    for name, found in bare.items():
        yield Result(f"{what}: best bare {name} ({found.how})", found.speed, "t/s")
    yield Result(
        f"{what}: auto / best bare", speed / max(b.speed for b in bare.values()), "x", NOISE
    )


def _auto(ref: ModelRef, rows: list[GenerateRequest], threads: int) -> tuple[str, float]:
    """The engine that `auto` takes for these requests, and its tokens a second."""
    facts = describe(ref)
    taken = route(facts, Needs(params=GREEDY))
    return taken.engine, _speed(taken.engine, facts, rows, threads)


def _speed(name: str, facts: ModelFacts, rows: list[GenerateRequest], threads: int) -> float:
    async def run() -> float:
        engine = await open_engine(name, facts, EngineOptions(threads=threads))
        try:
            await engine.generate(rows[:2])
            return await engine_speed(engine, rows)
        finally:
            await engine.close()

    return asyncio.run(run())


def _variants(case: Case, ref: ModelRef, threads: int, scale: float) -> Iterator[Result]:
    """What a user may choose: int8 weights, and beams."""
    rows = requests("real", max(16, int(ROWS * scale)))
    int8 = ref.model_copy(update={"engine": "ctranslate2", "compute_type": "int8"})
    speed = _speed("ctranslate2", describe(int8), rows, threads)
    yield Result(f"{case.name}, real: ctranslate2 int8", speed, "t/s")
    few = [_with_beams(row) for row in rows[:: max(1, len(rows) // 32)]]
    for name in ("transformers", "ctranslate2"):
        yield Result(
            f"{case.name}, real, 4 beams: {name}", _speed(name, describe(ref), few, threads), "t/s"
        )


def _with_beams(row: GenerateRequest) -> GenerateRequest:
    beams = GenerationParams(num_beams=4, early_stopping=True, length_penalty=1.0)
    return GenerateRequest(row.id, row.prompt, beams.over(row.params), truncate="cut")


def _loading(case: Case, ref: ModelRef, threads: int) -> Result:
    """Opening a cached conversion against the bare library and the tokenizer."""
    facts = describe(ref)

    async def opened() -> float:
        started = time.perf_counter()
        engine = await open_engine("ctranslate2", facts, EngineOptions(threads=threads))
        seconds = time.perf_counter() - started
        await engine.close()
        return seconds

    asyncio.run(opened())  # converts
    ours: list[float] = []
    bare: list[float] = []
    for _ in range(5):
        bare.append(bare_load_seconds(facts, threads))
        ours.append(asyncio.run(opened()))
    name = f"{case.name}: loading a cached conversion / bare"
    return Result(name, min(ours) / min(bare), "x", 1.2, "at most")
