"""A closed loop of clients on an OpenAI-style server: each sends one request after the other."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import quantiles

import httpx

WORDS = (
    "the house stood at the end of a long road and every morning someone walked from there to "
    "town with a basket of apples for the market where people spoke about weather and prices"
).split()
LENGTHS = (16, 32, 64, 128)


@dataclass(frozen=True)
class Ask:
    """One request of the load.

    Attributes:
        text: what the user says.
        tokens: most new tokens.
    """

    text: str
    tokens: int


@dataclass(frozen=True)
class Told:
    """One answer, as its client saw it.

    Attributes:
        first: seconds until the first piece of text.
        gaps: seconds between pieces.
        tokens: new tokens, as the server counts them.
        text: all pieces.
    """

    first: float
    gaps: tuple[float, ...]
    tokens: int
    text: str


@dataclass(frozen=True)
class Measured:
    """A whole load.

    Attributes:
        speed: new tokens a second.
        first_p50: seconds to the first piece, the median.
        first_p95: likewise, of the slowest twentieth.
        gap_p95: seconds between pieces.
        texts: the answers, in the order of the load.
    """

    speed: float
    first_p50: float
    first_p95: float
    gap_p95: float
    texts: tuple[str, ...]


def mixed(count: int, seed: int = 1) -> list[Ask]:
    """Half the prompts of 20 to 40 words, half of 250 to 420; 16 to 128 new tokens."""
    draw = random.Random(seed)
    asks = []
    for at in range(count):
        size = draw.randint(20, 40) if at % 2 else draw.randint(250, 420)
        words = " ".join(draw.choice(WORDS) for _ in range(size))
        asks.append(Ask(f"Go on with this story, number {at}: {words}", draw.choice(LENGTHS)))
    return asks


def drive(url: str, model: str, asks: Sequence[Ask], clients: int) -> Measured:
    """Send a load with so many clients at a time."""
    return asyncio.run(_drive(url, model, asks, clients))


async def _drive(url: str, model: str, asks: Sequence[Ask], clients: int) -> Measured:
    told: dict[int, Told] = {}
    waiting = iter(enumerate(asks))
    limits = httpx.Limits(max_connections=clients)

    async with httpx.AsyncClient(base_url=url, timeout=900, limits=limits) as http:

        async def client() -> None:
            for at, ask in waiting:
                told[at] = await _ask(http, model, ask)

        started = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        seconds = time.perf_counter() - started
    return summed([told[at] for at in range(len(asks))], seconds)


def summed(told: Sequence[Told], seconds: float) -> Measured:
    """The figures of a load that took so long."""
    first = [one.first for one in told]
    gaps = [gap for one in told for gap in one.gaps]
    return Measured(
        sum(one.tokens for one in told) / seconds,
        percentile(first, 50),
        percentile(first, 95),
        percentile(gaps, 95),
        tuple(one.text for one in told),
    )


def percentile(values: Sequence[float], at: int) -> float:
    """The value below which so many of a hundred lie."""
    if len(values) < 2:
        return values[0] if values else 0.0
    return quantiles(values, n=100, method="inclusive")[at - 1]


async def _ask(http: httpx.AsyncClient, model: str, ask: Ask) -> Told:
    body = {
        "model": model,
        "messages": [{"role": "user", "content": ask.text}],
        "max_tokens": ask.tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    started = time.perf_counter()
    times: list[float] = []
    text, tokens = "", 0
    async with http.stream("POST", "/v1/chat/completions", json=body) as answer:
        if answer.status_code != 200:
            raise RuntimeError(f"{answer.status_code}: {(await answer.aread()).decode()}")
        async for line in answer.aiter_lines():
            if not line.startswith("data: {"):
                continue
            event = json.loads(line[6:])
            tokens = (event.get("usage") or {}).get("completion_tokens") or tokens
            for choice in event.get("choices", ()):
                piece = choice.get("delta", {}).get("content")
                if piece:
                    text += piece
                    times.append(time.perf_counter() - started)
    gaps = tuple(b - a for a, b in pairwise(times))
    # A server that counts nothing is counted by its pieces.
    return Told(times[0] if times else 0.0, gaps, tokens or len(times), text)
