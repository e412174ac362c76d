"""What it costs to have the engine in a process of its own: new tokens a second of streams."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from statistics import median

from bakeoff.core.modelref import ModelRef
from bakeoff.core.ports import Engine
from bakeoff.core.requests import GenerateRequest, GenerationParams, Text
from bakeoff.engines import describe, open_engine
from bakeoff.engines.host import open_hosted
from bakeoff.engines.options import EngineOptions
from benchmarks.apart import apart
from benchmarks.models import smol
from benchmarks.results import Result

CLIENTS = (1, 8)
NEW = 48
ROUNDS = 6
OPENERS = {"in process": open_engine, "host": open_hosted}


def measure(threads: int, scale: float) -> Iterator[Result]:
    """Tokens a second of both, in turns, and the median over the turns of what the hop costs."""
    new = max(8, int(NEW * scale))
    with tempfile.TemporaryDirectory() as folder:
        ref = apart(smol, Path(folder))
        found = apart(_compared, ref, threads, new)
    for clients, rates in found.items():
        for kind in OPENERS:
            rate = median(one[kind] for one in rates)
            yield Result(f"streams: {clients} at a time, {kind}", rate, "t/s")
        cost = median(100 * (1 - one["host"] / one["in process"]) for one in rates)
        yield Result(f"streams: {clients} at a time, cost of the host", cost, "%", 3.0, "at most")


def _compared(ref: ModelRef, threads: int, new: int) -> dict[int, list[dict[str, float]]]:
    return asyncio.run(_in_turns(ref, threads, new))


async def _in_turns(ref: ModelRef, threads: int, new: int) -> dict[int, list[dict[str, float]]]:
    """Clients -> the rates of each round; who begins alternates."""
    options = EngineOptions(threads=threads)
    facts = describe(ref)
    engines = {
        kind: await opener("transformers", facts, options) for kind, opener in OPENERS.items()
    }
    found: dict[int, list[dict[str, float]]] = {}
    for clients in CLIENTS:
        for number in range(ROUNDS + 1):  # the first warms up
            order = sorted(engines, reverse=bool(number % 2))
            rates = {
                kind: await _rate(engines[kind], [f"{number}-{at}" for at in range(clients)], new)
                for kind in order
            }
            if number:
                found.setdefault(clients, []).append(rates)
    for engine in engines.values():
        await engine.close()
    return found


async def _rate(engine: Engine, names: list[str], new: int) -> float:
    """Tokens a second of clients with these names."""
    began = time.perf_counter()
    counts = await asyncio.gather(*(_text(engine, name, new) for name in names))
    return sum(counts) / (time.perf_counter() - began)


async def _text(engine: Engine, name: str, new: int) -> int:
    params = GenerationParams(max_new_tokens=new, min_new_tokens=new, temperature=0.0)
    words = " ".join(f"{name} {n * 7 % 31}" for n in range(16))
    request = GenerateRequest(name, Text(words), params, lane="chat")
    async with aclosing(engine.stream(request)) as chunks:
        return sum([len(chunk.token_ids) async for chunk in chunks])
