"""Offline generation against one-by-one `generate`, on two loads, interleaved."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion
from bakeoff.core.ports import Engine
from bakeoff.core.requests import GenerateRequest, GenerationParams, Tokens
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from benchmarks.apart import apart
from benchmarks.models import smol, t5_small
from benchmarks.results import Result

ROWS = 200
ALONE = 24
"""Rows that are also generated one by one; half before and half after the batches."""
PROMISES = {
    ("SmolLM2-135M", "even"): 3.0,
    ("SmolLM2-135M", "real"): 1.7,
    ("T5-small size", "even"): 1.7,
    ("T5-small size", "real"): 1.7,
}


def measure(threads: int, scale: float) -> Iterator[Result]:
    """Tokens a second of the engine over those of one-by-one `generate`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("T5-small size", t5_small), ("SmolLM2-135M", smol)):
            ref = make(Path(folder))
            for load in ("even", "real"):
                ratio, speed = _compare(ref, load, threads, scale)
                what = f"{name}, {load} load: engine / one by one"
                yield Result(what, ratio, "x", PROMISES[name, load])
                yield Result(f"{name}, {load} load: tokens a second", speed, "t/s")


def requests(load: str, rows: int) -> list[GenerateRequest]:
    """`even`: prompts of 30 to 60 tokens, 64 new ones. `real`: 80 to 400, and 16 to 128 new."""
    draw = random.Random(1)
    made = []
    for number in range(rows):
        size = draw.randint(30, 60) if load == "even" else draw.randint(80, 400)
        new = 64 if load == "even" else draw.randint(16, 128)
        ids = tuple(draw.randrange(20, 250) for _ in range(size))
        params = GenerationParams(
            max_new_tokens=new, min_new_tokens=new, temperature=0.0, num_beams=1
        )
        made.append(GenerateRequest(str(number), Tokens(ids), params, truncate="cut"))
    return made


def _compare(ref: ModelRef, load: str, threads: int, scale: float) -> tuple[float, float]:
    rows = requests(load, max(16, int(ROWS * scale)))
    alone = rows[:: max(1, len(rows) // max(4, int(ALONE * scale)))]
    before = apart(one_by_one, ref, alone[0::2], threads)
    speed = apart(through, "transformers", ref, rows, threads)
    after = apart(one_by_one, ref, alone[1::2], threads)
    return speed / ((before + after) / 2), speed


def through(name: str, ref: ModelRef, rows: list[GenerateRequest], threads: int) -> float:
    """New tokens a second of an engine, warmed by two rows."""

    async def run() -> float:
        engine = await open_engine(name, describe(ref), EngineOptions(threads=threads))
        try:
            await engine.generate(rows[:2])
            return await engine_speed(engine, rows)
        finally:
            await engine.close()

    return asyncio.run(run())


async def engine_speed(engine: Engine, rows: list[GenerateRequest]) -> float:
    """New tokens a second.

    Raises:
        ValueError: a row failed: the rate would be that of the others.
    """
    started = time.perf_counter()
    outcomes = await engine.generate(rows)
    seconds = time.perf_counter() - started
    made = [outcome for outcome in outcomes if isinstance(outcome, Completion)]
    if len(made) < len(rows):
        failed = next(one for one in outcomes if not isinstance(one, Completion))
        raise ValueError(f"{len(rows) - len(made)} of {len(rows)} rows failed: {failed.message}")
    return sum(len(one.token_ids) for one in made) / seconds


def one_by_one(ref: ModelRef, rows: list[GenerateRequest], threads: int) -> float:
    """New tokens a second of plain transformers, one row at a time: what a simple job does."""
    import torch

    model = plain_model(ref, threads)
    tokens, started = 0, 0.0
    for at, row in enumerate([rows[0], *rows]):
        if at == 1:  # the first one warms it up
            tokens, started = 0, time.perf_counter()
        assert isinstance(row.prompt, Tokens)
        ids = torch.tensor([row.prompt.ids])
        new = row.params.max_new_tokens or 0
        with torch.inference_mode():
            model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=new,
                min_new_tokens=new,
                do_sample=False,
            )
        tokens += new
    return tokens / (time.perf_counter() - started)


def plain_model(ref: ModelRef, threads: int) -> Any:
    """The library's model, on so many threads."""
    import torch

    from bakeoff.engines.transformers.loading import load_model

    torch.set_num_threads(threads)
    return load_model(describe(ref), EngineOptions(threads=threads)).model
