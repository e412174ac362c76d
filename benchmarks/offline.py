"""What `auto` takes against one-by-one `generate` and against the best bare engines."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerateRequest, GenerationParams
from bakeoff.engines import describe, open_engine
from bakeoff.engines.needs import Needs
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.route import route
from benchmarks.apart import apart
from benchmarks.bare import BATCHES, Bare, bare_load_seconds, bare_speed, ways
from benchmarks.generation import ALONE, ROWS, one_by_one, requests, through
from benchmarks.models import bart_base, smol, t5_small
from benchmarks.results import Result

GREEDY = GenerationParams(max_new_tokens=64, temperature=0.0, num_beams=1)
NOISE = 0.97
"""Two runs of the same code differ by as much on a machine that does other things."""
TURNS = 3
"""Each side is measured so often, by turns; the median counts."""


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
    """Each engine on the same rows, in a process of its own."""
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
    taken = route(describe(ref), Needs(params=GREEDY)).engine
    apart(through, taken, ref, rows[:2], threads)  # converts, where it has to be
    rival = _best(ref, rows, threads)
    slow, ours, theirs = [], [], []
    for turn in range(TURNS):
        slow.append(apart(one_by_one, ref, alone[turn::TURNS], threads))
        ours.append(apart(through, taken, ref, rows, threads))
        theirs.append(apart(bare_speed, ref, rows, rival))
    what, speed = f"{case.name}, {load}", median(ours)
    yield Result(f"{what}: auto ({taken})", speed, "t/s")
    yield Result(f"{what}: auto / one by one", speed / median(slow), "x", getattr(case, load))
    yield Result(f"{what}: bare {rival}", median(theirs), "t/s")
    yield Result(f"{what}: auto / best bare", speed / median(theirs), "x", NOISE)


def _best(ref: ModelRef, rows: list[GenerateRequest], threads: int) -> Bare:
    """The fastest setting of the libraries by themselves, on as many rows as fill two batches."""
    few = rows[: 2 * max(BATCHES)]
    speeds = {bare: apart(bare_speed, ref, few, bare) for bare in ways(threads)}
    return max(speeds, key=lambda bare: speeds[bare])


def _variants(case: Case, ref: ModelRef, threads: int, scale: float) -> Iterator[Result]:
    """What a user may choose: int8 weights, and beams."""
    rows = requests("real", max(16, int(ROWS * scale)))
    int8 = ref.model_copy(update={"engine": "ctranslate2", "compute_type": "int8"})
    speed = apart(through, "ctranslate2", int8, rows, threads)
    yield Result(f"{case.name}, real: ctranslate2 int8", speed, "t/s")
    few = [_with_beams(row) for row in rows[:: max(1, len(rows) // 32)]]
    for name in ("transformers", "ctranslate2"):
        speed = apart(through, name, ref, few, threads)
        yield Result(f"{case.name}, real, 4 beams: {name}", speed, "t/s")


def _with_beams(row: GenerateRequest) -> GenerateRequest:
    beams = GenerationParams(num_beams=4, early_stopping=True, length_penalty=1.0)
    return GenerateRequest(row.id, row.prompt, beams.over(row.params), truncate="cut")


def _loading(case: Case, ref: ModelRef, threads: int) -> Result:
    """Opening a cached conversion against the bare library and the tokenizer."""
    bare, ours = apart(_load_seconds, ref, threads)
    return Result(
        f"{case.name}: loading a cached conversion / bare", ours / bare, "x", 1.2, "at most"
    )


def _load_seconds(ref: ModelRef, threads: int) -> tuple[float, float]:
    """The least of five, bare and ours by turns."""
    facts = describe(ref)

    async def opened() -> float:
        started = time.perf_counter()
        engine = await open_engine("ctranslate2", facts, EngineOptions(threads=threads))
        seconds = time.perf_counter() - started
        await engine.close()
        return seconds

    asyncio.run(opened())  # imports, and converts
    pairs = [(bare_load_seconds(ref, threads), asyncio.run(opened())) for _ in range(5)]
    return min(bare for bare, _ in pairs), min(ours for _, ours in pairs)
