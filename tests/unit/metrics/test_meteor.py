"""METEOR equals NLTK with a WordNet that knows no word, and needs no data."""

import random

import pytest
from nltk.translate.meteor_score import meteor_score

from bakeoff.metrics.meteor import Meteor, NoSynonyms
from bakeoff.metrics.words import Words
from tests.unit.metrics.samples import IDENTICAL, LATIN, ODD_ROWS, inputs, random_text


def test_equals_nltk_without_synonyms() -> None:
    rng = random.Random(4)
    words = [word + end for word in LATIN for end in ("", "s", "ing", "ed")]
    pairs = [
        (random_text(rng, words), tuple(random_text(rng, words) for _ in "ab")) for _ in range(40)
    ]
    (scores,) = Meteor({}).score(inputs(pairs))
    tokenize = Words().tokenize
    for value, (text, references) in zip(scores.values, pairs, strict=True):
        expected = meteor_score(
            [tokenize(r) for r in references], tokenize(text), wordnet=NoSynonyms()
        )
        assert value == pytest.approx(expected, abs=1e-12)


def test_published_example() -> None:
    reference = (
        "It is a guide to action that ensures that the military will forever heed Party commands"
    )
    text = (
        "It is a guide to action which ensures that the military always obeys the commands of "
        "the party"
    )
    (scores,) = Meteor({}).score(inputs([(text, (reference,))]))
    assert scores.values == pytest.approx((0.6944,), abs=5e-5)
    assert "no-synonyms|alpha:0.9|beta:3|gamma:0.5" in scores.signature


@pytest.mark.parametrize("language", list(IDENTICAL))
def test_identical_text_gets_all_but_the_penalty_of_one_chunk(language: str) -> None:
    text = IDENTICAL[language]
    (scores,) = Meteor({}).score(inputs([(text, (text,))]))
    assert scores.values == pytest.approx((1 - 0.5 / len(Words().tokenize(text)) ** 3,))


def test_stems_match_and_parameters_are_used() -> None:
    row = inputs([("cats running", ("cat runs",))])
    assert Meteor({}).score(row)[0].values[0] > 0
    assert Meteor({"gamma": 0}).score(row)[0].values == (1.0,)


def test_odd_rows_cost_only_themselves() -> None:
    (scores,) = Meteor({}).score(inputs([*ODD_ROWS, ("x", ()), ("x", ("?",))]))
    assert scores.values[1:] == (0.0, 0.0, None, None, None, None)
    assert scores.reasons[3:] == ("empty reference",) * 2 + ("no reference", "empty reference")
