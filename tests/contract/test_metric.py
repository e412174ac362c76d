"""Every metric keeps the contract of `core.ports.Metric`."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bakeoff.core.ports import Metric, MetricInput, Scores
from bakeoff.core.specs import MetricSpec
from bakeoff.metrics import METRICS, build_metrics

TEXTS = [
    "The cat sat on the mat while it rained.",
    "",
    "   ",
    "!!!",
    "今天天气很好",
    "bad \ud800 half",
    "<script>alert(1)</script>",
    "word " * 700,
]
REFERENCES: list[tuple[str, ...]] = [
    ("The cat sat on a mat.", "A cat sat."),
    ("something",),
    (),
    ("\f",),
    ("今天天气不好",),
    ("",),
    ("!!!",),
    ("word " * 600,),
]
ROWS = [
    MetricInput(str(at), 0, text, references, source="A source text.", extra={})
    for at, (text, references) in enumerate(zip(TEXTS, REFERENCES, strict=True))
]
# BERTScore needs a model; its own tests run it.
NAMES = [name for name in METRICS if name != "bertscore"]


@pytest.fixture(params=NAMES)
def metric(request: pytest.FixtureRequest) -> Metric:
    (built,) = build_metrics([MetricSpec(name=request.param)])
    built.check()
    return built


def test_one_score_for_each_output_and_one_value_for_each_input(metric: Metric) -> None:
    found = metric.score(ROWS)
    assert tuple(scores.output for scores in found) == metric.outputs()
    for scores in found:
        assert len(scores.values) == len(scores.reasons) == len(ROWS)
        assert scores.signature


def test_values_are_finite_or_none_with_a_reason(metric: Metric) -> None:
    for scores in metric.score(ROWS):
        for value, reason in zip(scores.values, scores.reasons, strict=True):
            assert (value is None) == (reason is not None)
            assert value is None or (type(value) is float and math.isfinite(value))


def test_a_metric_with_values_between_nothing_and_all_says_that_it_is_graded(
    metric: Metric,
) -> None:
    partly = MetricInput("p", 0, "the cat sat", ("the cat lay down",), source="A source text.")
    for scores in metric.score([*ROWS, partly]):
        full = scores.output.scale
        if full is not None and scores.output.kind == "row":
            between = any(value is not None and 0 < value < full for value in scores.values)
            assert scores.output.graded == between, scores.output.name


def test_the_same_input_gives_the_same_output(metric: Metric) -> None:
    for one, other in zip(metric.score(ROWS), metric.score(ROWS), strict=True):
        assert one.values == other.values
        assert one.signature == other.signature
        assert one.combine == other.combine


def test_the_signature_does_not_depend_on_what_is_predicted(metric: Metric) -> None:
    others = [replace(row, prediction=text) for row, text in zip(ROWS, TEXTS[::-1], strict=True)]
    plain = [replace(row, prediction="plain") for row in ROWS]
    signatures = [
        [scores.signature for scores in metric.score(rows)] for rows in (ROWS, others, plain)
    ]
    assert signatures[0] == signatures[1] == signatures[2]


def test_a_row_does_not_depend_on_its_neighbours(metric: Metric) -> None:
    together = metric.score(ROWS)
    backwards = metric.score(ROWS[::-1])
    for one, other in zip(together, backwards, strict=True):
        assert one.values == other.values[::-1]


def test_without_reference_there_is_no_value_but_a_reason(metric: Metric) -> None:
    (row,) = [MetricInput("1", 0, "text", source="source", extra={"completion_tokens": 3})]
    for scores in metric.score([row]):
        if metric.needs_reference:
            assert (scores.values, scores.reasons) == ((None,), ("no reference",))
        else:
            assert scores.values[0] is not None


def test_no_input(metric: Metric) -> None:
    for scores in metric.score([]):
        assert scores.values == scores.reasons == ()


def test_a_perfect_prediction_reaches_the_scale(metric: Metric) -> None:
    text = "a text of several plain words"
    for scores in metric.score([MetricInput("1", 0, text, (text,), source=text)]):
        output = scores.output
        if output.scale is None or metric.name == "meteor":  # METEOR always takes a penalty
            continue
        best = 0.0 if output.better == "lower" else output.scale
        assert _total(scores) == pytest.approx(best)


def test_corpus_statistics_add_up(metric: Metric) -> None:
    for scores in metric.score(ROWS):
        if scores.output.kind == "row":
            assert scores.statistics is None
            continue
        assert scores.statistics is not None
        assert scores.combine is not None
        assert scores.statistics.shape[0] == len(ROWS)
        unmeasured = [value is None for value in scores.values]
        assert not scores.statistics[unmeasured].any()
        weights = np.random.default_rng(0).integers(0, 3, size=(5, len(ROWS)))
        draws = np.concatenate([weights, np.zeros((1, len(ROWS)), dtype=int)]) @ scores.statistics
        combined = scores.combine(draws)
        assert combined.shape == (6,)
        assert np.isfinite(combined).all()


def _total(scores: Scores) -> float:
    if scores.statistics is not None and scores.combine is not None:
        return float(scores.combine(scores.statistics.sum(axis=0)))
    assert scores.values[0] is not None
    return scores.values[0]
