"""Exact match, SQuAD F1, accuracy, macro F1, lengths and ratios."""

import random
import re
import string
import unicodedata
from collections import Counter

import numpy as np
import pytest

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.ports import Metric, MetricInput
from bakeoff.metrics.exact import ExactMatch
from bakeoff.metrics.labels import OWN, Accuracy, MacroF1
from bakeoff.metrics.lengths import Compression, Length
from bakeoff.metrics.squad import Squad
from tests.support import part, scale
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


def test_squad_references_that_are_nothing_count_only_alone() -> None:
    """As in SQuAD 2: a reference of articles and punctuation is none beside another one."""
    for references in (("the", "mat cat"), ("", "mat cat"), ("mat cat", "!?")):
        (f1, em) = Squad({}).score(inputs([("", references), ("mat cat", references)]))
        assert (f1.values, em.values) == ((0.0, 1.0), (0.0, 1.0)), references
    assert first(Squad({}), "a", "the", "...") == 1.0


def official_normal(said: str) -> str:
    kept = "".join(c for c in said.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", kept).split())


def official_f1(gold: str, said: str) -> float:
    golds, words = official_normal(gold).split(), official_normal(said).split()
    common = Counter(golds) & Counter(words)
    same = sum(common.values())
    if len(golds) == 0 or len(words) == 0:
        return float(golds == words)
    if same == 0:
        return 0.0
    precision, recall = same / len(words), same / len(golds)
    return 2 * precision * recall / (precision + recall)


def official(golds: tuple[str, ...], said: str) -> tuple[float, float]:
    """F1 and exact match as SQuAD 2's evaluation script has them, written from its rule."""
    kept = [gold for gold in golds if official_normal(gold)] or [""]
    exact = max(float(official_normal(gold) == official_normal(said)) for gold in kept)
    return max(official_f1(gold, said) for gold in kept), exact


@pytest.mark.parametrize("seed", range(scale(100)))
def test_squad_equals_the_official_rule(seed: int) -> None:
    rng = random.Random(seed)
    pieces = ["the", "a", "An", "cat", "mat", "Mat.", "!", "-", "it's", "naïve", "«x»", "", "thé"]

    def text() -> str:
        return rng.choice([" ", "  ", "\n"]).join(rng.choices(pieces, k=rng.randint(0, 4)))

    rows = [(text(), tuple(text() for _ in range(rng.randint(1, 4)))) for _ in range(100)]
    f1, em = Squad({}).score(inputs(rows))
    expected = [official(references, said) for said, references in rows]
    assert f1.values == pytest.approx([pair[0] for pair in expected])
    assert em.values == pytest.approx([pair[1] for pair in expected])


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


@pytest.mark.parametrize("options", [{}, {"ignore_case": True}])
def test_texts_in_two_unicode_forms_are_equal(options: dict[str, object]) -> None:
    for text in ("café", "각", "ᾴ", "Å", "क़"):
        cut = unicodedata.normalize("NFD", text)
        for said, reference in ((text, cut), (cut, text)):
            assert first(ExactMatch(options), said, reference) == 1.0
            assert first(Accuracy(options), said, reference) == 1.0
            assert first(MacroF1(options), said, reference) == 1.0
            assert first(MacroF1({**options, "labels": [cut]}), said, reference) == 1.0
    assert first(Accuracy(options), "cafe", "café") == 0.0
    assert first(ExactMatch({"ignore_case": True}), "CAFÉ", unicodedata.normalize("NFD", "é")) == 0
    assert first(Accuracy({"ignore_case": True}), "Ά", unicodedata.normalize("NFD", "ά")) == 1.0


@pytest.mark.parametrize(
    ("labels", "options", "told"),
    [
        (["ONE TWO", "ONE TWO", "ONE TWO "], {}, "'ONE TWO' twice"),
        (["a", "A"], {"ignore_case": True}, "'a' and 'A', one label"),
        (["é", "e\u0301"], {}, "one label"),
    ],
)
def test_macro_f1_refuses_a_label_given_twice(
    labels: list[str], options: dict[str, object], told: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        MacroF1({"labels": labels, **options})
    assert told in caught.value.message
    assert "metric 'macro_f1': option 'labels'" in caught.value.message
    MacroF1({"labels": ["a", "A"]})


def test_macro_f1_over_given_labels() -> None:
    (scores,) = MacroF1({"labels": ["ONE TWO"]}).score(inputs([("ONE TWO", ("ONE TWO ",))]))
    assert scores.combine is not None
    assert scores.statistics is not None
    assert float(scores.combine(scores.statistics.sum(axis=0))) == 1.0


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
