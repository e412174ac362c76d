"""The pass of single rows: what counts as a timed row."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.report import LatencySummary
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import RunSpec
from bakeoff.engines import open_engine
from bakeoff.jobs.contender import make_contender
from bakeoff.jobs.latency import latency_sample, measure_latency
from bakeoff.jobs.plan import plan_row
from bakeoff.tasks import build_task

DELAY = 0.01
LABELS = {"kind": "text-classification", "labels": ["good", "bad"]}
WAYS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "streamed": ("", "text-generation", {}),
    "beams": ("", "text-generation", {"num_beams": 2}),
    "scored": ("", LABELS, {}),
    "predicted": ("&kind=encoder", LABELS, {}),
}


def timed(way: str, fault: str, rows: int = 5) -> LatencySummary | None:
    query, task, generation = WAYS[way]
    spec = RunSpec.model_validate(
        {
            "name": "l",
            "dataset": "d.csv",
            "task": task,
            "generation": generation,
            "models": [{"id": "m", "model": f"fake://echo?delay={DELAY}{query}{fault}"}],
        }
    )
    made = make_contender(spec, spec.models[0], "m", build_task(spec.task), Path())
    data = [TaskRow(index=n, id=str(n), source=f"row {n}") for n in range(rows)]
    planned = [p for row in data for p in plan_row(made, row, 1)]

    async def measure() -> LatencySummary | None:
        engine = await open_engine("fake", made.facts)
        return await measure_latency(made, engine, latency_sample(planned, rows))

    return asyncio.run(measure())


@pytest.mark.parametrize("way", WAYS)
def test_failures_take_no_time(way: str) -> None:
    assert timed(way, "&fail_text=row") is None
    found = timed(way, "&fail_text=row 3")
    assert found is not None and found.rows == 4
    assert way == "scored" or found.p50 >= DELAY * 0.9


def test_the_first_row_that_works_is_the_warm_up() -> None:
    found = timed("predicted", "&fail_text=row 0")
    assert found is not None and found.rows == 3
