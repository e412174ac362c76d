"""From scores to a model's value: groups, counts that add up, repeats that weigh alike."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from bakeoff.core.ports import MetricOutput, Scores
from bakeoff.core.report import Score
from bakeoff.core.results import RowError, RowResult
from bakeoff.core.rows import TaskRow
from bakeoff.jobs.answers import ModelAnswers
from bakeoff.jobs.intervals import group_codes, model_scores, model_units, scale_of
from bakeoff.jobs.scoring import ModelScores
from bakeoff.stats.scale import OPEN, Scale

FAILED = RowError(code="engine_failed", message="no", retryable=False)


def test_group_codes() -> None:
    assert group_codes([None, None]) is None
    found = group_codes(["b", None, "a", "b", None])
    assert found is not None
    assert found.dtype == np.intp
    assert found[0] == found[3]
    assert len(set(found.tolist())) == 4


def test_group_codes_do_not_hang_on_the_order_of_rows() -> None:
    names = ["b", "a", "c", "a"]
    one, two = group_codes(names), group_codes(names[::-1])
    assert one is not None and two is not None
    assert one.tolist() == two[::-1].tolist()


def test_long_group_names_cost_no_memory_of_their_own() -> None:
    """One long cell once made every row as long: 4 bytes a character and row."""
    names = ["x" * 20_000, *(f"document {at % 50}" for at in range(4_000))]
    tracemalloc.start()
    try:
        group_codes(names)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_scale_of() -> None:
    assert scale_of(MetricOutput("chrf", scale=100.0)) == Scale(100.0)
    assert scale_of(MetricOutput("ter", scale=100.0, better="lower")) == Scale(100.0, beyond=True)
    assert scale_of(MetricOutput("length", scale=None, better=None)) == OPEN
    assert scale_of(MetricOutput("rouge2", graded=True)) == Scale(graded=True)


@dataclass(frozen=True)
class Share:
    """First over second, in hundredths."""

    def __call__(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(100 * statistics[..., 0] / statistics[..., 1])


Said = float | str
"""A value, the reason why there is none, or `failed`."""


def made(said: list[list[Said]], kind: str = "row") -> tuple[ModelAnswers, dict[str, ModelScores]]:
    """Answers and scores of one model: rows of repeats."""
    results = tuple(
        RowResult(key="k", row=f"r{row}", repeat=repeat, ok=False, error=FAILED)
        if one == "failed"
        else RowResult(key="k", row=f"r{row}", repeat=repeat, ok=True, text="t")
        for row, repeats in enumerate(said)
        for repeat, one in enumerate(repeats)
    )
    kept = [one for repeats in said for one in repeats if one != "failed"]
    values = tuple(one if isinstance(one, float) else None for one in kept)
    scores = Scores(
        output=MetricOutput("m", scale=100.0, kind="corpus" if kind == "corpus" else "row"),
        values=values,
        reasons=tuple(one if isinstance(one, str) else None for one in kept),
        statistics=np.array([[v or 0.0, float(v is not None)] for v in values]),
        combine=Share() if kind == "corpus" else None,
    )
    places = tuple(place for place, result in enumerate(results) if result.ok)
    answers = ModelAnswers("model", results, None)
    return answers, {"m": ModelScores("model", "m", places, scores)}


def scored(said: list[list[Said]], kind: str = "row") -> Score:
    answers, scores = made(said, kind)
    rows = [TaskRow(index=row, id=f"r{row}") for row in range(len(said))]
    units = model_units(scores, answers, rows)
    return model_scores(scores, units, answers, None)["m"]


@pytest.mark.parametrize("repeats", [1, 2, 3])
def test_rows_with_a_value_without_and_failed_add_up(repeats: int) -> None:
    each: list[Said] = [0.5, 0.25, "no reference", "no reference", "not a number", "failed"]
    found = scored([[one] * repeats for one in each])
    assert (found.n, found.unscored, found.failed) == (2, 3, 1)
    assert found.reasons == {"no reference": 2, "not a number": 1}


def test_a_row_counts_by_its_best_repeat() -> None:
    found = scored([["failed", 0.5], ["no reference", 0.5], ["failed", "no reference"]])
    assert (found.n, found.unscored, found.failed) == (2, 1, 0)
    assert found.reasons == {"no reference": 1}


@pytest.mark.parametrize("kind", ["row", "corpus"])
def test_a_row_weighs_the_same_whatever_its_repeats(kind: str) -> None:
    whole, holes = [[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, "failed"]]
    full = 100 if kind == "corpus" else 1
    assert scored(whole, kind).value == pytest.approx(0.5 * full)
    assert scored(holes, kind).value == pytest.approx(0.5 * full)  # summed repeats: a third
