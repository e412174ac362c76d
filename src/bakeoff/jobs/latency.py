"""A pass of a few rows one at a time: latency and time to first token under one condition."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Sequence

from bakeoff.core.errors import BakeoffError, EngineFailed
from bakeoff.core.outputs import Failure, Outcome
from bakeoff.core.ports import Engine
from bakeoff.core.report import LatencySummary
from bakeoff.core.requests import EngineRequest, GenerateRequest, ScoreRequest
from bakeoff.core.results import RowResult
from bakeoff.jobs.closing import closed_after
from bakeoff.jobs.collect import Collector
from bakeoff.jobs.contender import Contender
from bakeoff.jobs.plan import PlannedRow

ROWS = 20
SECONDS = 30.0
LEAST = 3


async def measure_latency(
    contender: Contender, engine: Engine, rows: Iterable[PlannedRow]
) -> LatencySummary | None:
    """Time rows alone, the first one as a warm-up that does not count.

    Stops after `SECONDS` once `LEAST` rows are timed. Rows that fail are left out: they take no
    time. None where no row could be timed.
    """
    warm = False
    totals: list[float] = []
    firsts: list[float] = []
    begun = time.monotonic()
    for planned in rows:
        try:
            first, total = await _one(contender, engine, planned)
        except BakeoffError:
            continue
        if not warm:
            warm = True
            continue
        totals.append(total)
        if first is not None:
            firsts.append(first)
        if len(totals) >= LEAST and time.monotonic() - begun > SECONDS:
            break
    if not totals:
        return None
    return LatencySummary(
        rows=len(totals),
        p50=quantile(totals, 0.5),
        p95=quantile(totals, 0.95),
        first_token_p50=quantile(firsts, 0.5) if firsts else None,
        first_token_p95=quantile(firsts, 0.95) if firsts else None,
    )


def latency_sample(rows: Sequence[PlannedRow], count: int) -> list[PlannedRow]:
    """Up to `count` rows spread evenly, and one more in front as a warm-up."""
    usable = [row for row in rows if row.refused is None and row.repeat == 0]
    if not usable or count < 1:
        return []
    size = min(count, len(usable))
    spread = [usable[i * len(usable) // size] for i in range(size)]
    return [spread[0], *spread]


def quantile(values: list[float], share: float) -> float:
    """The smallest value that at least this share of the values do not exceed."""
    ordered = sorted(values)
    place = max(0, min(len(ordered) - 1, -(-int(share * 1000) * len(ordered) // 1000) - 1))
    return ordered[place]


async def _one(
    contender: Contender, engine: Engine, planned: PlannedRow
) -> tuple[float | None, float]:
    first: float | None = None
    started = time.monotonic()
    for request in Collector(contender).requests([planned]):
        if isinstance(request, RowResult):
            continue
        seen = await _ask(engine, request)
        if first is None and seen is not None:
            first = seen - started
    return first, time.monotonic() - started


async def _ask(engine: Engine, request: EngineRequest) -> float | None:
    """Carry out one request; the moment of its first new token, where there is one."""
    if isinstance(request, GenerateRequest) and not _beams(request):
        first = None
        async with closed_after(engine.stream(request)) as chunks:
            async for _ in chunks:
                first = first or time.monotonic()
        return first
    outcomes: AsyncIterator[Outcome]
    if isinstance(request, GenerateRequest):
        outcomes = engine.complete([request])
    elif isinstance(request, ScoreRequest):
        outcomes = engine.score([request])
    else:
        outcomes = engine.predict([request])
    async with closed_after(outcomes):
        async for outcome in outcomes:
            if isinstance(outcome, Failure):
                raise EngineFailed(outcome.message)
    return None


def _beams(request: GenerateRequest) -> bool:
    return (request.params.num_beams or 1) > 1
