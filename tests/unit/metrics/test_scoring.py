"""Metrics over all models of a run: what is left out, what is noticed, what may decide."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from bakeoff.core.errors import DependencyMissing, InvalidSpec, MetricFailed, UnknownName
from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores
from bakeoff.core.results import RowResult, UsageRecord
from bakeoff.core.rows import Notice, TaskRow
from bakeoff.core.specs import MetricSpec
from bakeoff.jobs.answers import ModelAnswers
from bakeoff.jobs.scoring import check_deciding, row_units, runnable, score_all
from bakeoff.metrics import build_metrics

ROWS = {"1": TaskRow(0, "1"), "2": TaskRow(1, "2")}
REFERENCES = {"1": ("one",), "2": ("two",)}


class Stub(Metric):
    """Raises what it is given, in `check` or in `score`; else counts characters."""

    name: ClassVar[str] = "stub"

    def __init__(self, check: Exception | None = None, score: Exception | None = None) -> None:
        self._check, self._score = check, score

    def outputs(self) -> tuple[MetricOutput, ...]:
        return (MetricOutput("stub"),)

    def check(self) -> None:
        if self._check is not None:
            raise self._check

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        if self._score is not None:
            raise self._score
        lengths = tuple(float(len(item.prediction)) for item in inputs)
        notices = (Notice("stub-notice", f"{len(inputs)} seen", len(inputs)),)
        return [Scores(self.outputs()[0], lengths, (None,) * len(inputs), notices=notices)]


def answers(model: str, texts: Sequence[str], tokens: int = 0) -> ModelAnswers:
    results = tuple(
        RowResult(key=row, row=row, ok=True, text=text, usage=UsageRecord(completion=tokens))
        for row, text in zip(ROWS, texts, strict=True)
    )
    return ModelAnswers(model, results, None)


def built(*names: str) -> list[Metric]:
    return build_metrics([MetricSpec(name=name) for name in names])


@pytest.mark.parametrize(
    "problem", [DependencyMissing("metric 'stub'", "bertscore"), MetricFailed("no model")]
)
def test_a_metric_that_cannot_run_here_is_left_out_by_name(problem: Exception) -> None:
    kept, notices = runnable([*built("rouge"), Stub(check=problem)])
    assert [metric.name for metric in kept] == ["rouge"]
    assert [notice.code for notice in notices] == ["metric-left-out"]
    assert notices[0].text.startswith("stub is left out: ")


def test_a_wrong_option_is_not_passed_over() -> None:
    with pytest.raises(InvalidSpec):
        runnable([Stub(check=InvalidSpec("no such folder"))])


def test_a_metric_that_fails_costs_only_itself() -> None:
    scored = score_all(
        [Stub(score=ZeroDivisionError("by zero")), *built("exact_match")],
        [answers("a", ["one", "two"])],
        ROWS,
        REFERENCES,
    )
    assert list(scored.by_model["a"]) == ["exact_match"]
    assert [(n.code, "by zero" in n.text) for n in scored.notices] == [("metric-failed", True)]


def test_notices_of_a_metric_reach_the_run() -> None:
    models = [answers("a", ["one", "two"]), answers("b", ["1", "2"])]
    scored = score_all([Stub()], models, ROWS, REFERENCES)
    assert scored.notices == (Notice("stub-notice", "4 seen", 4),)
    assert scored.by_model["b"]["stub"].scores.values == (1.0, 1.0)


@pytest.mark.parametrize(("tokens", "values"), [(3, (3.0, 3.0)), (0, (None, None))])
def test_a_model_that_counts_no_tokens_has_no_length_in_tokens(tokens: int, values: Any) -> None:
    scored = score_all(built("length"), [answers("a", ["one", "two"], tokens)], ROWS, REFERENCES)
    assert scored.by_model["a"]["length_tokens"].scores.values == values


def test_repeats_are_averaged_and_their_spread_is_kept() -> None:
    results = tuple(
        RowResult(key=f"{row}{repeat}", row=row, repeat=repeat, ok=True, text=text)
        for row, texts in (("1", ("a", "abc")), ("2", ("ab",)))
        for repeat, text in enumerate(texts)
    )
    model = ModelAnswers("m", results, None)
    scored = score_all([Stub()], [model], ROWS, REFERENCES).by_model["m"]["stub"]
    units = row_units(scored, model, {"1": 0, "2": 1})
    assert units.values.tolist() == [2.0, 2.0]
    assert units.repeats == 2
    assert units.noise is not None
    assert units.noise[0] == 1.0  # variance 2 of two repeats
    assert np.isnan(units.noise[1])


def test_what_may_decide() -> None:
    metrics = built("rouge", "length", "bleu")
    for name in ("rouge", "rougeL", "bleu"):
        check_deciding(name, metrics)
    with pytest.raises(UnknownName, match="did you mean 'rougeL'"):
        check_deciding("rougel", metrics)
    for name in ("length", "length_words"):
        with pytest.raises(InvalidSpec, match="neither more nor less is better"):
            check_deciding(name, metrics)
