"""Exact match, SQuAD F1, accuracy, macro F1, lengths and ratios."""

import random

import numpy as np
import pytest

from bakeoff.core.ports import Metric, MetricInput
from bakeoff.metrics.exact import ExactMatch
from bakeoff.metrics.labels import OWN, Accuracy, MacroF1
from bakeoff.metrics.lengths import Compression, Length
from bakeoff.metrics.squad import Squad
from tests.support import part
from tests.unit.metrics.samples import inputs


def first(metric: Metric, text: str, *references: str) -> float | None:
    return metric.score(inputs([(text, references)]))[0].values[0]


@pytest.mark.parametrize(
    ("options", "text", "reference", "value"),
    [
        ({}, " Paris\n", "Paris", 1.0),
        ({}, "paris", "Paris", 0.0),
        ({"ignore_case": True}, "STRASSE", "straße", 1.0),
        ({}, "Paris.", "Paris", 0.0),
        ({"ignore_punctuation": True}, "«Paris»,  France。", "Paris France", 1.0),
        ({}, "", "", 1.0),
        ({}, "no", "yes", 0.0),
    ],
)
def test_exact_match(options: dict[str, object], text: str, reference: str, value: float) -> None:
    assert first(ExactMatch(options), text, reference) == value
    assert first(ExactMatch(options), text, "something else", reference) == value


@pytest.mark.parametrize(
    ("text", "references", "f1", "em"),
    [
        ("The Eiffel Tower!", ("eiffel tower",), 1.0, 1.0),
        ("in Paris, France", ("Paris",), 0.5, 0.0),
        ("Paris", ("London", "paris"), 1.0, 1.0),
        ("", ("",), 1.0, 1.0),
        ("the", ("",), 1.0, 1.0),
        ("Paris", ("",), 0.0, 0.0),
        ("", ("Paris",), 0.0, 0.0),
        ("x", ("", "x"), 1.0, 1.0),
        ("a b b c", ("b b d",), 2 * (2 / 3) * (2 / 3) / (4 / 3), 0.0),
    ],
)
def test_squad(text: str, references: tuple[str, ...], f1: float, em: float) -> None:
    scores = Squad({}).score(inputs([(text, references)]))
    assert [one.values[0] for one in scores] == pytest.approx([f1, em])


def test_squad_rows_without_reference() -> None:
    rows = inputs([("", ()), ("Paris", ())])
    assert Squad({}).score(rows)[0].reasons == ("no reference", "no reference")
    assert Squad({"no_answer": True}).score(rows)[0].values == (1.0, 0.0)


def test_squad_by_character_on_request() -> None:
    assert first(Squad({}), "天气好", "天气") == 0.0
    assert first(Squad({"tokens": "words"}), "天气好", "天气") == pytest.approx(0.8)


def test_accuracy() -> None:
    assert first(Accuracy({}), " positive ", "positive") == 1.0
    assert first(Accuracy({}), "Positive", "positive") == 0.0
    assert first(Accuracy({"ignore_case": True}), "Positive", "positive") == 1.0
    assert first(Accuracy({}), "positive") is None


@pytest.mark.parametrize("labels", [None, ["a", "b", "e"]])
def test_macro_f1_equals_scikit_learn(labels: list[str] | None) -> None:
    part("sklearn")
    from sklearn.metrics import f1_score

    rng = random.Random(5)
    true = rng.choices("abcd", weights=[8, 4, 2, 1], k=60)
    said = [t if rng.random() < 0.6 else rng.choice("abcxyz") for t in true]
    rows = inputs([(s, (t,)) for s, t in zip(said, true, strict=True)])
    (scores,) = MacroF1({} if labels is None else {"labels": labels}).score(rows)
    assert scores.statistics is not None
    assert scores.combine is not None
    for picked in (range(60), range(10), [0, 0, 5]):
        at = np.array(picked)
        expected = f1_score(
            [true[i] for i in at], [said[i] for i in at],
            labels=labels, average="macro", zero_division=0,
        )  # fmt: skip
        assert float(scores.combine(scores.statistics[at].sum(axis=0))) == pytest.approx(expected)


def test_macro_f1_of_no_reference_and_of_several() -> None:
    (scores,) = MacroF1({}).score(inputs([("a", ()), ("a", ("b", "a")), ("c", ("b", "a"))]))
    assert scores.values == (None, 1.0, 0.0)
    assert scores.reasons == ("no reference", None, None)
    assert scores.combine is not None
    assert scores.statistics is not None
    assert float(scores.combine(scores.statistics.sum(axis=0))) == pytest.approx(1 / 3)


def test_macro_f1_of_many_answers_that_are_no_label_stays_small() -> None:
    rare = [(f"answer {at}", ("a",)) for at in range(2000)]
    often = [(f"other {at % (OWN - 1)}", ("b",)) for at in range(2 * (OWN - 1))]
    rows = inputs([*rare, *often, ("a", ("a",)), ("b", ("b",))])
    (scores,) = MacroF1({}).score(rows)
    assert scores.statistics is not None
    assert scores.combine is not None
    assert scores.statistics.shape[1] == 3 * 2 + OWN + 1
    f1 = [2 / (1 + 2001), 2 / (1 + 2 * OWN - 1)]
    found = float(scores.combine(scores.statistics.sum(axis=0)))
    assert found == pytest.approx(sum(f1) / (2 + OWN + 1))
    (notice,) = scores.notices
    assert notice.code == "labels-pooled"
    assert "1,999 different answers that are no reference count as one label" in notice.text
    assert scores.signature.endswith("|others:pooled")
    (few,) = MacroF1({}).score(inputs([("z", ("a",)), ("y", ("a",)), ("a", ("a",))]))
    assert (few.notices, few.signature.count("pooled")) == ((), 0)


def test_macro_f1_formulas_are_equal_for_equal_labels() -> None:
    rows = inputs([("a", ("b",))])
    one, other = (MacroF1({}).score(rows)[0].combine for _ in range(2))
    assert one == other
    assert one != MacroF1({}).score(inputs([("a", ("c",))]))[0].combine


def test_length() -> None:
    items = [
        MetricInput("1", 0, "Two words!", extra={"completion_tokens": 4}),
        MetricInput("2", 0, "今天好"),
        MetricInput("3", 0, ""),
    ]
    characters, words, tokens = Length({}).score(items)
    assert characters.values == (10.0, 3.0, 0.0)
    assert words.values == (2.0, 3.0, 0.0)
    assert tokens.values == (4.0, None, None)
    assert tokens.reasons == (None, "no token count", "no token count")
    assert characters.output.better is None
    assert not Length.needs_reference


@pytest.mark.parametrize(
    ("unit", "source", "value"),
    [
        ("characters", "twenty characters on", 0.25),
        ("words", "one two three four five six seven eight", 0.125),
        ("characters", "", None),
        ("characters", None, None),
        ("words", "?!", None),
    ],
)
def test_compression(unit: str, source: str | None, value: float | None) -> None:
    (scores,) = Compression({"unit": unit}).score([MetricInput("1", 0, "hello", source=source)])
    assert scores.values == (value,)
    assert scores.reasons == ((None,) if value is not None else ("no source",))
