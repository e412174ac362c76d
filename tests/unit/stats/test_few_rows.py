"""Few rows: intervals that hold the truth, nothing decided below ten, rows that are all alike."""

from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import pytest
from numpy.typing import NDArray

from bakeoff.core.report import Pair
from bakeoff.stats.apart import FEWEST
from bakeoff.stats.bootstrap import WILSON, corpus_interval, mean_interval, wilson
from bakeoff.stats.paired import Paired, Setting, Side, compare, compare_all
from bakeoff.stats.scale import OPEN, Scale, rule_of_three, units_for
from bakeoff.stats.verdict import Question, decide, told_apart

Floats = NDArray[np.float64]
Ends = tuple[float | None, float | None]
PLAIN = Setting("m", scale=OPEN)
SHOWN = np.array([0.1, 0.9, 0.5, 0.3, 0.7])


def ratio(statistics: Floats) -> Floats:
    return np.asarray(statistics[..., 0] / statistics[..., 1])


def table(values: Floats) -> Floats:
    return np.column_stack([values, np.ones_like(values)])


def pair(d: Floats, setting: Setting = PLAIN) -> Paired:
    d = np.asarray(d, float)
    return compare(Side("a", d), Side("b", np.zeros(len(d))), setting)


def corpus_pair(d: Floats, setting: Setting = PLAIN) -> Paired:
    flat = np.zeros(len(d))
    return compare(Side("a", d, table(d), ratio), Side("b", flat, table(flat), ratio), setting)


def mean_ends(x: Floats) -> Ends:
    found = mean_interval(x, scale=OPEN, draws=1_000)
    return found.low, found.high


def corpus_ends(x: Floats) -> Ends:
    found = corpus_interval(table(x), ratio, draws=1_000)
    return found.low, found.high


def group_ends(x: Floats) -> Ends:
    """Each value is what three rows of one group have in common."""
    rows, groups = np.repeat(x, 3), np.repeat(np.arange(len(x)), 3)
    found = mean_interval(rows, scale=OPEN, groups=groups, draws=1_000)
    return found.low, found.high


def pair_ends(x: Floats) -> Ends:
    found = pair(x)
    return found.low, found.high


def corpus_pair_ends(x: Floats) -> Ends:
    found = corpus_pair(x)
    return found.low, found.high


KINDS = {
    "mean": mean_ends, "corpus": corpus_ends, "groups": group_ends, "pair": pair_ends,
    "corpus pair": corpus_pair_ends,
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("n", [3, 5, 10])
def test_intervals_of_few_normal_values_hold_the_truth(
    kind: str, n: int, scale: Callable[[int], int]
) -> None:
    rng, times = np.random.default_rng(17), scale(1_000)
    hits = 0
    for _ in range(times):
        low, high = KINDS[kind](rng.normal(size=n))
        hits += low is not None and high is not None and low <= 0.0 <= high
    assert hits / times >= 0.9


def test_ends_reach_beyond_what_was_seen_and_stop_at_the_scale() -> None:
    two = mean_interval(np.array([0.4, 0.5]))
    assert (two.low, two.high) == (0.0, 1.0)  # Student's t: -0.19 to 1.09
    some = mean_interval(np.array([0.4, 0.45, 0.5]))
    assert some.low == pytest.approx(0.3258, abs=5e-5)
    assert some.high == pytest.approx(0.5742, abs=5e-5)
    shown = mean_interval(np.array([-0.2, 0.4, 0.6]))  # bounds that do not hold bound nothing
    assert shown.low is not None and shown.low < 0
    assert shown.high == 1.0
    rate = mean_interval(np.array([60.0, 95.0]), scale=Scale(100.0, beyond=True))
    assert rate.low == 0.0
    assert rate.high is not None and rate.high > 100
    gap = pair(np.array([0.9, 0.5, 0.8]), Setting("m"))
    assert gap.high == 1.0


@pytest.mark.parametrize("unmeasured", [0, 1, 90, 995, 200_000])
def test_rows_that_were_not_measured_have_no_say(unmeasured: int) -> None:
    values = np.concatenate([SHOWN, np.full(unmeasured, np.nan)])
    assert mean_interval(values) == mean_interval(SHOWN)
    groups = np.concatenate([[0, 0, 1, 2, 3], 10 + np.arange(unmeasured)]).astype(np.intp)
    assert mean_interval(values, groups=groups) == mean_interval(SHOWN, groups=groups[:5])


@pytest.mark.parametrize("value", [0.2, 0.1 + 0.2, 1.0 / 3.0])
def test_rows_all_alike_get_the_rule_of_three(value: float) -> None:
    """Of 10 rows alike, up to 25.9 % of all may be others: 1 - 0.05 ** 0.1."""
    found = mean_interval(np.full(10, value))
    assert found.method == "all rows equal: rule of three"
    assert (found.low, found.high) == pytest.approx(
        (value * (1 - 0.25887), value + 0.25887 * (1 - value)), abs=5e-6
    )
    noise = np.tile([0.0, 1e-9], 5)  # rounding is no spread
    assert mean_interval(value + noise).method == found.method
    assert mean_interval(np.full(10, value), scale=OPEN).low is None
    assert mean_interval(np.full(10, 7.0)).low is None  # beyond its scale


def test_groups_of_equal_shares_get_wilson_over_groups() -> None:
    groups = np.repeat(np.arange(10), 5)
    found = mean_interval((np.arange(50) % 5 == 0).astype(float), groups=groups)
    assert (found.value, found.method) == (0.2, f"{WILSON}, over groups")
    assert (found.low, found.high) == wilson(2, 10)
    other = mean_interval(np.tile([0.1, 0.2, 0.3, 0.2, 0.2], 10), groups=groups)
    assert other.method == "all groups equal: rule of three"
    assert other.low is not None and other.high is not None
    assert other.low < 0.15 < 0.4 < other.high


@pytest.mark.long
def test_the_rule_of_three_holds_the_truth(scale: Callable[[int], int]) -> None:
    """Rows of 0.5 among which now and then one is 1: nearly always all rows seen are alike."""
    rng, times, hits = np.random.default_rng(3), scale(1_000), 0
    for _ in range(times):
        found = mean_interval(np.where(rng.random(10) < 0.1, 1.0, 0.5), draws=1_000)
        assert found.low is not None and found.high is not None
        hits += found.low <= 0.55 <= found.high
    assert hits / times >= 0.9


def test_rule_of_three() -> None:
    assert rule_of_three(0.0, 100, (0.0, 1.0)) == pytest.approx((0.0, 0.0295), abs=5e-5)
    assert rule_of_three(0.0, 100, (-1.0, 1.0)) == pytest.approx((-0.0295, 0.0295), abs=5e-5)
    assert rule_of_three(2.0, 100, (0.0, 1.0)) is None
    assert rule_of_three(2.0, 100, OPEN.bounds) is None
    assert units_for(0.01, 0.0, (-1.0, 1.0)) == pytest.approx(298.07, abs=0.01)
    assert units_for(2.0, 0.0, (-1.0, 1.0)) == 1.0
    assert units_for(0.01, 0.0, OPEN.gaps) == units_for(0.0, 0.0, (-1.0, 1.0)) == float("inf")


def report(found: Paired) -> Pair:
    return Pair(**asdict(found))


def verdict_of(a: Floats, b: Floats, **more: object) -> tuple[str, str]:
    """Kind and sentence, b the baseline with a margin of 8 points."""
    setting = Setting("m", margin=0.08, **more)  # type: ignore[arg-type]
    (found,) = compare_all([Side("a", a), Side("b", b)], setting)
    ranking = ["a", "b"] if a.mean() >= b.mean() else ["b", "a"]
    question = Question("m", margin=8.0, baseline="b")
    decided = decide([report(found)], ranking, question).verdict
    assert decided is not None
    return decided.kind, decided.sentence


@pytest.mark.parametrize("rows", [2, 5, 9])
@pytest.mark.parametrize("gap", [0.0, 0.5])
def test_nothing_is_decided_on_fewer_than_ten_rows(rows: int, gap: float) -> None:
    b = np.linspace(0.1, 0.3, rows)
    kind, sentence = verdict_of(b + gap + np.linspace(-1e-3, 1e-3, rows), b)
    assert kind == "cannot-tell"
    assert "on so few independent rows (it takes at least 10)" in sentence
    assert "more rows would settle" in sentence


@pytest.mark.parametrize(("gap", "kind"), [(0.0, "not-worse"), (0.5, "better")])
def test_ten_rows_can_decide(gap: float, kind: str) -> None:
    b = np.linspace(0.1, 0.3, FEWEST)
    assert verdict_of(b + gap + np.linspace(-1e-3, 1e-3, FEWEST), b)[0] == kind


def test_a_few_groups_are_as_few_rows() -> None:
    groups = np.repeat(np.arange(9), 40)
    b = np.random.default_rng(0).random(360) / 10
    a = b + np.random.default_rng(1).normal(0, 1e-3, 360)
    kind, sentence = verdict_of(a, b, groups=groups)
    assert kind == "cannot-tell"
    assert "so few independent rows" in sentence
    assert verdict_of(a, b, groups=np.repeat(np.arange(12), 30))[0] == "not-worse"
    for found in (
        pair(a - b, Setting("m", groups=groups)),
        corpus_pair(a - b, Setting("m", groups=groups)),
    ):
        assert found.n_effective == 9
        assert "worth 9 independent rows: fewer than 10 decide nothing" in found.method


def test_equal_answers_are_equal_only_as_far_as_rows_tell() -> None:
    same = np.linspace(0.2, 0.6, 30)
    found = compare(Side("a", same), Side("b", same), Setting("m", margin=0.01))
    assert (found.low, found.high) == pytest.approx((-0.0950, 0.0950), abs=5e-5)
    assert found.rows_to_settle == 299 - 30
    assert verdict_of(same, same)[0] == "cannot-tell"  # 9.5 points, beyond the margin of 8
    same = np.linspace(0.2, 0.6, 40)
    assert verdict_of(same, same)[0] == "not-worse"
    noisy = pair(np.array([0.75, 0.35, 0.3]) - np.array([0.5, 0.1, 0.05]), Setting("m"))
    assert noisy.method.startswith("all differences are 0.25: rule of three")


def test_equal_rights_and_wrongs_too() -> None:
    """Newcombe's interval alone is narrower than the rule of three where half are right."""
    same = np.arange(10) % 2.0
    found = compare(Side("a", same), Side("b", same), Setting("m", margin=0.01))
    assert (found.low, found.high) == pytest.approx((-0.2589, 0.2589), abs=5e-5)
    assert found.rows_to_settle == 299 - 10
    wide = compare(Side("a", np.ones(10)), Side("b", np.ones(10)), Setting("m"))
    assert (wide.low, wide.high) == pytest.approx((-0.2775, 0.2775), abs=5e-5)


def test_groups_and_corpora_without_spread_have_no_interval_of_a_point() -> None:
    groups = np.repeat(np.arange(12), 2)
    grouped = pair(np.tile([0.1, -0.1], 12), Setting("m", groups=groups))
    assert (grouped.low, grouped.high) == pytest.approx((-0.2209, 0.2209), abs=5e-5)
    assert "rule of three" in grouped.method
    assert grouped.n_effective == 12
    corpus = corpus_pair(np.full(20, 0.25), Setting("m"))
    assert (corpus.low, corpus.high) == pytest.approx((0.0761, 0.3543), abs=5e-5)
    assert corpus_pair(np.full(20, 0.25)).low is None


def test_few_rows_of_a_corpus_metric_are_as_wide_as_their_mean() -> None:
    d = np.random.default_rng(2).normal(size=4)
    corpus, plain = corpus_pair(d), pair(d)
    assert (corpus.low, corpus.high) == pytest.approx((plain.low, plain.high))
    assert corpus.method.startswith("bias-corrected (BCa) bootstrap over rows, 10,000 draws, or")


def test_what_is_not_settled_needs_more_rows() -> None:
    """Of three rows all differ, and McNemar's p is 0.25: no estimate makes that enough."""
    three = compare(Side("a", np.ones(3)), Side("b", np.zeros(3)), Setting("m"))
    assert three.p == 0.25
    assert three.rows_to_settle == FEWEST - 3
    # Apart alone, but not among ten pairs: an error this small asks for no further row.
    rng = np.random.default_rng(5)
    clear = np.where(np.arange(12) < 7, 0.5, 0.0) + rng.normal(0, 1e-3, 12)
    clear[7:] = 0.0
    sides = [Side("a", clear), Side("b", np.zeros(12))]
    (alone,) = compare_all(sides, Setting("m", margin=0.45))
    others = [Side(f"c{at}", rng.random(12)) for at in range(5)]
    among = next(p for p in compare_all([*sides, *others], Setting("m", margin=0.45)) if p.b == "b")
    assert told_apart(alone) and alone.rows_to_settle == 0
    assert not told_apart(among) and among.rows_to_settle == 1


def test_exactly_these_rows_may_be_few() -> None:
    setting = Setting("m", estimand="exactly-these-rows")
    once = compare(Side("a", np.array([0.9, 0.8])), Side("b", np.array([0.2, 0.1])), setting)
    assert once.n_effective is None
    assert told_apart(once)

    def repeated(repeats: int) -> Paired:
        noise = np.full(2, 1e-4)
        a, b = np.array([0.9, 0.8]), np.array([0.2, 0.1])
        sides = (Side(name, v, noise=noise, repeats=repeats) for name, v in (("a", a), ("b", b)))
        return compare(*sides, setting)

    assert not told_apart(repeated(2))
    assert told_apart(repeated(6))
