"""The verdict's three kinds, its sentences, and tiers."""

import pytest

from bakeoff.core.report import Pair
from bakeoff.stats.verdict import Question, decide, tiers, told_apart


def pair(a: str, b: str, difference: float, half: float, **more: object) -> Pair:
    p = 0.001 if abs(difference) > half else 0.4
    values: dict[str, object] = {
        "low": difference - half, "high": difference + half, "p": p, "p_adjusted": p, "n": 100,
    }  # fmt: skip
    return Pair(a=a, b=b, metric="rougeL", difference=difference, **{**values, **more})  # type: ignore[arg-type]


def ask(**more: object) -> Question:
    return Question("rougeL", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "apart"),
    [
        (pair("a", "b", 0.1, 0.05), True),
        (pair("a", "b", 0.1, 0.2), False),
        (pair("a", "b", 0.1, 0.05, p_adjusted=0.06), False),
        (pair("a", "b", 0.1, 0.05, p=0.01, p_adjusted=None), True),
        (pair("a", "b", 0.1, 0.05, p=None, p_adjusted=None), True),
        (pair("a", "b", 0.1, 0.05, low=None, high=None), False),
        (pair("a", "b", 0.0, 0.0, p=None, p_adjusted=None), False),
    ],
)
def test_told_apart(found: Pair, apart: bool) -> None:
    assert told_apart(found) is apart


def test_better_of_two() -> None:
    for found in (pair("b", "a", 0.041, 0.029), pair("a", "b", -0.041, 0.029)):
        decided = decide([found], ["b", "a"], ask())
        assert decided.verdict is not None
        assert decided.verdict.kind == "better"
        assert decided.verdict.sentence == ("b is better than a by 4.1 points of rougeL (1.2 to 7)")
        assert decided.tiers == (("b",), ("a",))


def test_lower_is_better() -> None:
    question = Question("ter", better="lower", scale=100.0)
    decided = decide([pair("a", "b", -12.0, 3.0)], ["a", "b"], question)
    assert decided.verdict is not None
    assert decided.verdict.sentence == "a is better than b by 12 points of ter (9 to 15)"


def test_open_scale_speaks_its_unit() -> None:
    question = Question("length_tokens", better="lower", scale=None, unit="tokens")
    decided = decide([pair("a", "b", -12.0, 3.0)], ["a", "b"], question)
    assert decided.verdict is not None
    assert "by 12 tokens of length_tokens (9 to 15)" in decided.verdict.sentence


def test_better_than_all() -> None:
    pairs = [pair("a", "b", 0.2, 0.1), pair("a", "c", 0.3, 0.1), pair("b", "c", 0.1, 0.2)]
    decided = decide(pairs, ["a", "b", "c"], ask())
    assert decided.verdict is not None
    assert decided.verdict.kind == "better"
    assert decided.verdict.sentence == (
        "a is better than all 2 others; it is ahead of the next, b, "
        "by 20 points of rougeL (10 to 30)"
    )
    assert decided.tiers == (("a",), ("b", "c"))


def test_cannot_tell_names_its_price() -> None:
    found = pair("a", "c", 0.01, 0.05, rows_to_settle=637)
    decided = decide([found], ["a", "c"], ask(margin=3.0))
    assert decided.verdict is not None
    assert decided.verdict.kind == "cannot-tell"
    assert decided.verdict.sentence == (
        "a and c cannot be told apart by rougeL on these rows; "
        "about 640 more rows would settle a gap of 3 points of rougeL"
    )
    assert decided.verdict.margin == 3.0
    without = decide([found], ["a", "c"], ask())
    assert without.verdict is not None
    assert without.verdict.sentence.endswith("would settle a gap as large as the one seen")


def test_not_worse_within_the_margin() -> None:
    decided = decide([pair("a", "c", 0.005, 0.01)], ["a", "c"], ask(margin=2.0))
    assert decided.verdict is not None
    assert decided.verdict.kind == "not-worse"
    assert decided.verdict.sentence == "c is not worse than a by more than 2 points of rougeL"


def test_margin_of_zero_is_never_not_worse() -> None:
    decided = decide([pair("a", "c", 0.0, 0.001)], ["a", "c"], ask())
    assert decided.verdict is not None
    assert decided.verdict.kind == "cannot-tell"


@pytest.mark.parametrize(
    ("difference", "half", "kind", "sentence"),
    [
        (0.05, 0.02, "better", "new is better than old by 5 points"),
        (-0.05, 0.02, "better", "old is better than new by 5 points"),
        (-0.005, 0.01, "not-worse", "new is not worse than old by more than 2 points"),
        (-0.01, 0.005, "not-worse", "new is not worse than old by more than 2 points"),
        (0.005, 0.01, "not-worse", "new is not worse than old by more than 2 points"),
        (0.01, 0.05, "cannot-tell", "new and old cannot be told apart"),
    ],
)
def test_against_a_baseline(difference: float, half: float, kind: str, sentence: str) -> None:
    ranking = ["new", "old"] if difference > 0 else ["old", "new"]
    found = pair("new", "old", difference, half)
    decided = decide([found], ranking, ask(margin=2.0, baseline="old"))
    assert decided.verdict is not None
    assert decided.verdict.kind == kind
    assert decided.verdict.sentence.startswith(sentence)


def test_baseline_that_beats_all() -> None:
    pairs = [pair("base", "x", 0.2, 0.1), pair("base", "y", 0.3, 0.1)]
    decided = decide(pairs, ["base", "x", "y"], ask(baseline="base"))
    assert decided.verdict is not None
    assert "base is better than the best other model, x, by 20 points" in decided.verdict.sentence


def test_tiers_hold_all_that_cannot_be_told_from_their_best() -> None:
    pairs = [
        pair("a", "b", 0.2, 0.1),
        pair("a", "c", 0.25, 0.3),  # few rows: not told apart, though c ranks behind b
        pair("b", "d", 0.2, 0.1),
        pair("a", "d", 0.4, 0.1),
    ]
    assert tiers(pairs, ["a", "b", "c", "d"]) == (("a", "c"), ("b",), ("d",))
    assert tiers([], ["a", "b"]) == (("a", "b"),)


def test_no_verdict_for_one_model_and_a_missing_pair_is_not_told_apart() -> None:
    assert decide([], ["a"], ask()).verdict is None
    decided = decide([], ["a", "b"], ask())
    assert decided.verdict is not None
    assert decided.verdict.sentence == "a and b cannot be told apart by rougeL on these rows"


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_ranking_that_the_pairs_contradict(better: str) -> None:
    """The better one stands first, whatever it was ranked by; no gain is ever negative."""
    sign = 1 if better == "higher" else -1
    pairs = [pair("a", "b", -0.3 * sign, 0.1), pair("a", "c", 0.01, 0.2)]
    decided = decide(pairs[:1], ["a", "b"], ask(better=better))
    assert decided.ranking == ("b", "a")
    assert decided.tiers == (("b",), ("a",))
    assert decided.verdict is not None
    assert decided.verdict.sentence == "b is better than a by 30 points of rougeL (20 to 40)"
    for baseline in ("a", "b"):
        against = decide(pairs[:1], ["a", "b"], ask(better=better, baseline=baseline)).verdict
        assert against is not None
        assert against.sentence == decided.verdict.sentence
    three = decide(pairs, ["a", "c", "b"], ask(better=better))
    assert three.ranking == ("c", "b", "a")
    assert three.verdict is not None
    assert three.verdict.kind == "cannot-tell"


def test_pairs_that_contradict_one_another_decide_nothing() -> None:
    pairs = [pair("a", "b", 0.3, 0.1), pair("b", "c", 0.3, 0.1), pair("a", "c", -0.3, 0.1)]
    decided = decide(pairs, ["a", "b", "c"], ask())
    assert decided.verdict is not None
    assert decided.verdict.kind == "cannot-tell"
    assert sorted(sum(decided.tiers, ())) == ["a", "b", "c"]
