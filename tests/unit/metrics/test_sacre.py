"""BLEU, chrF and TER equal sacrebleu, for the corpus and for rows, and combine over draws."""

import random
from typing import Any

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

from bakeoff.core.ports import Metric, Scores
from bakeoff.metrics.bleu import Bleu
from bakeoff.metrics.chrf import Chrf
from bakeoff.metrics.ter import Ter
from tests.unit.metrics.samples import IDENTICAL, LATIN, ODD_ROWS, inputs, random_text

TER_OPTIONS = {"normalized": True, "case_sensitive": True, "no_punct": True}
CHRF_OPTIONS = {"word_order": 2, "lowercase": True}
CASES = [
    (Bleu({}), BLEU()),
    (Bleu({"lowercase": True, "tokenize": "intl"}), BLEU(lowercase=True, tokenize="intl")),
    (Bleu({"tokenize": "char"}), BLEU(tokenize="char")),
    (Chrf({}), CHRF()),
    (Chrf(CHRF_OPTIONS), CHRF(**CHRF_OPTIONS)),
    (Chrf({"char_order": 4, "beta": 1}), CHRF(char_order=4, beta=1)),
    (Ter({}), TER()),
    (Ter(TER_OPTIONS), TER(**TER_OPTIONS)),
]
SENTENCE = [
    (Bleu({}), BLEU(effective_order=True)),
    (Chrf({}), CHRF()),
    (Ter({}), TER()),
]


def corpus(scores: Scores) -> float:
    assert scores.statistics is not None
    assert scores.combine is not None
    return float(scores.combine(scores.statistics.sum(axis=0)))


def data(rows: int, references: int) -> tuple[list[str], list[tuple[str, ...]]]:
    rng = random.Random(rows + references)
    words = [*LATIN, "It's", "3.5%,", "Naïve,", "(end).", "Über"]
    texts = [random_text(rng, words) for _ in range(rows)]
    return texts, [tuple(random_text(rng, words) for _ in range(references)) for _ in range(rows)]


@pytest.mark.parametrize(("metric", "reference"), CASES, ids=[str(n) for n in range(len(CASES))])
@pytest.mark.parametrize("references", [1, 3])
def test_corpus_value_equals_sacrebleu(metric: Metric, reference: Any, references: int) -> None:
    texts, answers = data(20, references)
    (scores,) = metric.score(inputs(list(zip(texts, answers, strict=True))))
    streams = [list(stream) for stream in zip(*answers, strict=True)]
    assert corpus(scores) == pytest.approx(reference.corpus_score(texts, streams).score, abs=1e-9)


@pytest.mark.parametrize(("metric", "reference"), SENTENCE)
def test_row_values_equal_sentence_scores(metric: Metric, reference: Any) -> None:
    texts, answers = data(20, 2)
    (scores,) = metric.score(inputs(list(zip(texts, answers, strict=True))))
    for value, text, refs in zip(scores.values, texts, answers, strict=True):
        assert value == pytest.approx(reference.sentence_score(text, list(refs)).score, abs=1e-9)
    assert "rows:sentence-score,eff:yes" in scores.signature


@pytest.mark.parametrize("metric", [Bleu({}), Chrf({}), Ter({})])
def test_combine_works_on_many_draws_at_once(metric: Metric) -> None:
    texts, answers = data(12, 1)
    (scores,) = metric.score(inputs(list(zip(texts, answers, strict=True))))
    assert scores.statistics is not None
    assert scores.combine is not None
    weights = np.random.default_rng(0).multinomial(12, np.ones(12) / 12, size=30)
    draws = weights @ scores.statistics
    together = scores.combine(draws)
    assert together.shape == (30,)
    assert together == pytest.approx([float(scores.combine(draw)) for draw in draws])


def test_default_signatures_are_those_of_sacrebleu() -> None:
    texts, answers = data(10, 1)
    rows = inputs(list(zip(texts, answers, strict=True)))
    version = sacrebleu.__version__
    signatures = [metric.score(rows)[0].signature for metric in (Bleu({}), Chrf({}), Ter({}))]
    assert signatures[0].startswith(
        f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    )
    assert signatures[1].startswith(
        f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}"
    )
    assert signatures[2].startswith("nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no")


def test_varying_number_of_references() -> None:
    rows = inputs([("a b c d", ("a b c d",)), ("a b c d", ("a b c e", "a b c d f"))])
    (scores,) = Bleu({}).score(rows)
    assert scores.signature.startswith("nrefs:var|")
    expected = BLEU().corpus_score(
        ["a b c d", "a b c d"], [["a b c d", "a b c e"], [None, "a b c d f"]]
    )
    assert corpus(scores) == pytest.approx(expected.score)


@pytest.mark.parametrize(
    ("prediction", "reference", "value"),
    [("yes", "yes", 100.0), ("yes", "no", 0.0), ("Good morning", "Good morning", 100.0)],
)
def test_short_texts(prediction: str, reference: str, value: float) -> None:
    (scores,) = Bleu({}).score(inputs([(prediction, (reference,))]))
    assert scores.values == pytest.approx((value,))
    assert corpus(scores) == pytest.approx(value)
    assert "eff:yes" in scores.signature.split("|rows:")[0]


def test_total_mismatch_of_two_words_is_not_half_right() -> None:
    (scores,) = Bleu({}).score(inputs([("red car", ("blue sky",))]))
    assert scores.values == (0.0,)


@pytest.mark.parametrize("metric", [Bleu({}), Chrf({}), Ter({})])
def test_odd_rows_cost_only_themselves(metric: Metric) -> None:
    (scores,) = metric.score(inputs([*ODD_ROWS, ("x", ())]))
    worst = 100.0 if metric.name == "ter" else 0.0
    assert scores.values[1:] == (worst, worst, None, None, None)
    assert scores.reasons[3:] == ("empty reference", "empty reference", "no reference")
    assert scores.statistics is not None
    assert not scores.statistics[3:].any()
    (alone,) = metric.score(inputs(ODD_ROWS[:3]))
    assert corpus(scores) == corpus(alone)


@pytest.mark.parametrize("metric", [Bleu({}), Chrf({}), Ter({})])
def test_nothing_to_score(metric: Metric) -> None:
    (scores,) = metric.score([])
    assert scores.values == ()
    (scores,) = metric.score(inputs([("x", ())]))
    assert scores.values == (None,)


@pytest.mark.parametrize("language", list(IDENTICAL))
def test_identical_text_is_perfect(language: str) -> None:
    rows = inputs([(IDENTICAL[language], (IDENTICAL[language],))])
    assert corpus(Bleu({}).score(rows)[0]) == pytest.approx(100)
    assert corpus(Chrf({}).score(rows)[0]) == pytest.approx(100)
    assert corpus(Ter({}).score(rows)[0]) == 0


@pytest.mark.parametrize(
    ("language", "tokenizer"), [("chinese", "zh"), ("japanese", "char"), ("thai", "char")]
)
def test_tokenizer_follows_the_script(language: str, tokenizer: str) -> None:
    text = IDENTICAL[language]
    (scores,) = Bleu({}).score(inputs([(text[:-2], (text,))]))
    assert f"tok:{tokenizer}|" in scores.signature
    assert 0 < corpus(scores) < 100
