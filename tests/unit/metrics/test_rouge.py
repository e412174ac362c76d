"""ROUGE equals rouge-score under the same tokenizer, in any script."""

import importlib.util
import random
import time

import pytest
from rouge_score.rouge_scorer import RougeScorer

from bakeoff.core.ports import MetricInput
from bakeoff.metrics import rouge
from bakeoff.metrics.rouge import VARIANTS, Rouge
from bakeoff.metrics.words import Words
from tests.unit.metrics.samples import IDENTICAL, LATIN, ODD_ROWS, inputs, random_text

ACCENTS = [*LATIN, "está", "este", "naïve", "дом", "天", "हिन्दी"]


@pytest.fixture(params=["plain", "native"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of computing: in Python, and by rouge-score-rs where it is installed."""
    if request.param == "plain":
        monkeypatch.setattr(rouge.importlib.util, "find_spec", lambda name: None)
    elif importlib.util.find_spec("rouge_score_rs") is None:
        pytest.skip("part missing: rouge_score_rs")
    return str(request.param)


def values(items: list[MetricInput], **options: object) -> dict[str, tuple[float | None, ...]]:
    return {scores.output.name: scores.values for scores in Rouge(options).score(items)}


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("words", [LATIN[:6], ACCENTS], ids=["ascii", "any script"])
def test_equals_rouge_score(words: list[str], stem: bool, way: str) -> None:
    rng = random.Random(1)
    forms = [word + end for word in words for end in ("", "s", "ing")]
    pairs = [
        (
            random_text(rng, forms, lines=True),
            tuple(random_text(rng, forms, lines=True) for _ in "ab"),
        )
        for _ in range(150)
    ]
    tokenizer = None if words is not ACCENTS else rouge._stemmed() if stem else Words().tokenize

    class Tokenizer:
        def tokenize(self, text: str) -> list[str]:
            assert tokenizer is not None
            return tokenizer(text)

    scorer = RougeScorer(
        list(VARIANTS), use_stemmer=stem, tokenizer=Tokenizer() if tokenizer else None
    )
    found = values(inputs(pairs), use_stemmer=stem)
    for at, (prediction, references) in enumerate(pairs):
        expected = scorer.score_multi(references, prediction)
        for name in VARIANTS:
            assert found[name][at] == pytest.approx(expected[name].fmeasure, abs=1e-9), name


@pytest.mark.parametrize("language", list(IDENTICAL))
def test_identical_text_scores_one(language: str) -> None:
    text = IDENTICAL[language]
    found = values(inputs([(text, (text,))]))
    assert all(scores == (1.0,) for scores in found.values())


def test_chinese_in_part() -> None:
    found = values(inputs([("今天天气很好", ("今天天气不好",))]))
    assert 0 < found["rougeL"][0] < 1


def test_accents_count() -> None:
    assert values(inputs([("está", ("este",))]))["rouge1"] == (0.0,)
    assert values(inputs([("está", ("esta",))]))["rouge1"] == (0.0,)


def test_each_variant_takes_its_best_reference() -> None:
    item = inputs([("a b c d", ("b a d c", "a b x y z"))])
    found = values(item)
    assert found["rouge1"] == (1.0,)
    assert found["rouge2"] == pytest.approx((2 / 7,))


def test_odd_rows_cost_only_themselves() -> None:
    scores = Rouge({}).score(inputs([*ODD_ROWS, ("x", ()), ("?", ("!!",)), ("?", ("!!", "a"))]))
    for one in scores:
        assert one.values[1:] == (0.0, 0.0, None, None, None, None, 0.0)
        assert one.values[0] is not None
        assert one.values[0] > 0.5
    assert scores[0].reasons == (
        *(None,) * 3,
        "empty reference",
        "empty reference",
        "no reference",
        "empty reference",
        None,
    )


def test_signature_names_the_tokenizers_whatever_is_predicted() -> None:
    plain = Rouge({}).score(inputs([("a", ("b",))]))[0].signature
    accented = Rouge({}).score(inputs([("a", ("b",)), ("é", ("b",))]))[0].signature
    assert plain == accented
    assert "tok:bakeoff-words-1,ascii:rouge-score-default|stem:no" in plain
    assert "|stem:porter" in Rouge({"use_stemmer": True}).score([])[0].signature


def test_one_accent_elsewhere_changes_no_ascii_row(way: str) -> None:
    rng = random.Random(2)
    rows = inputs([(random_text(rng, LATIN), (random_text(rng, LATIN),)) for _ in range(50)])
    alone = values(rows)
    together = values([*rows, *inputs([("é", ("é",))])])
    assert all(together[name][:-1] == alone[name] for name in VARIANTS)


def test_sentences_of_one_line_on_request() -> None:
    item = inputs([("One two. Three four!", ("Three four. One two.",))])
    assert values(item)["rougeLsum"] == pytest.approx((0.5,))
    assert values(item, split_summaries=True)["rougeLsum"] == (1.0,)


def test_a_thousand_pairs_are_quick(way: str) -> None:
    """A guard against a slow path; benchmarks/ measures. Several times the time it takes."""
    rng = random.Random(3)
    words = [f"word{i}" for i in range(300)]
    texts = [" ".join(rng.choices(words, k=50)) for _ in range(2000)]
    rows = inputs([(text, (other,)) for text, other in zip(texts[::2], texts[1::2], strict=True)])
    start = time.process_time()
    values(rows)
    assert time.process_time() - start < 1.0
