"""Two models on the same rows: each method against known values, and which one is taken."""

from collections.abc import Callable
from dataclasses import asdict, fields

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from bakeoff.core.report import Pair
from bakeoff.stats.binary import Table, mcnemar, newcombe
from bakeoff.stats.paired import Paired, Setting, Side, compare, compare_all, holm
from bakeoff.stats.permutation import sign_flip, swapped
from bakeoff.stats.planning import rows_for_share, rows_to_settle, smallest_difference
from bakeoff.stats.scale import OPEN, Scale

Floats = NDArray[np.float64]
RNG = np.random.default_rng(3)
SETTING = Setting("rougeL")


def ratio(statistics: Floats) -> Floats:
    return np.asarray(100 * statistics[..., 0] / statistics[..., 1])


def pair(a: Floats, b: Floats, setting: Setting = SETTING) -> Paired:
    return compare(Side("a", np.asarray(a, float)), Side("b", np.asarray(b, float)), setting)


def test_fields_are_those_of_the_report() -> None:
    assert {f.name for f in fields(Paired)} == set(Pair.model_fields)
    found = pair(RNG.random(30), RNG.random(30))
    assert Pair(**asdict(found)).n == 30


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [  # Newcombe (1998), table of worked examples, method 10
        (Table(20, 12, 2, 16), 0.0562, 0.3292),
        (Table(36, 12, 2, 0), 0.0569, 0.3404),
    ],
)
def test_newcombe(table: Table, low: float, high: float) -> None:
    assert newcombe(table) == pytest.approx((low, high), abs=5e-5)
    flipped = Table(table.both, table.only_b, table.only_a, table.neither)
    assert newcombe(flipped) == pytest.approx((-high, -low), abs=5e-5)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (5, 0), (6, 0), (9, 1), (3, 3), (4, 3), (240, 260)])
def test_mcnemar(b: int, c: int) -> None:
    exact = scipy.stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar(b, c) == pytest.approx(exact)
    assert mcnemar(c, b) == mcnemar(b, c)
    if b != c:
        observed = scipy.stats.binom.pmf(b, b + c, 0.5)
        assert mcnemar(b, c, mid=True) == pytest.approx(exact - observed)


def test_right_or_wrong() -> None:
    a = np.array([1] * 20 + [1] * 12 + [0] * 2 + [0] * 16)
    b = np.array([1] * 20 + [0] * 12 + [1] * 2 + [0] * 16)
    found = pair(a, b)
    assert found.method == "Newcombe's interval for paired shares; exact McNemar test"
    assert found.difference == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.0562, 0.3292), abs=5e-5)
    assert found.p == pytest.approx(scipy.stats.binomtest(12, 14).pvalue)
    assert (found.n, found.n_effective) == (50, 50.0)


def test_too_few_differing_rows_is_said() -> None:
    found = pair(np.array([1] * 5 + [0] * 20), np.zeros(25))
    assert "they differ on 5 rows: too few" in found.method
    assert found.p == pytest.approx(0.0625)


def test_many_rows_take_t() -> None:
    a, b = RNG.random(200), RNG.random(200)
    found = pair(a, b)
    theirs = scipy.stats.ttest_rel(a, b)
    ends = theirs.confidence_interval(0.95)
    assert found.method.startswith("Student's t; sign-flip test, 10,000 draws")
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.p == pytest.approx(theirs.pvalue, abs=0.02)


@pytest.mark.parametrize("data", [RNG.normal(size=30), RNG.exponential(size=150) ** 3])
def test_few_or_skewed_rows_take_the_bootstrap(data: Floats) -> None:
    found = pair(data, np.zeros(len(data)))
    assert found.method.startswith("bias-corrected (BCa) bootstrap over rows, 10,000 draws")
    assert found.low < found.difference < found.high  # type: ignore[operator]


def test_exact_sign_flip_is_that_of_scipy() -> None:
    d = np.array([0.3, -0.1, 0.2, 0.25, 0.0, 0.4, -0.05, 0.15, 0.35])
    theirs = scipy.stats.permutation_test((d,), np.mean, permutation_type="samples")
    assert sign_flip(d, 0) == (pytest.approx(theirs.pvalue), "exact sign-flip test")


def test_sign_flip_by_draws_and_by_t() -> None:
    d = RNG.normal(0.1, 1.0, size=400)
    p, how = sign_flip(d, 0)
    assert how == "sign-flip test, 10,000 draws"
    assert p == pytest.approx(scipy.stats.ttest_1samp(d, 0).pvalue, abs=0.02)
    assert sign_flip(d, 0) == (p, how)
    many = RNG.normal(0.02, 1.0, size=2_000)
    assert sign_flip(many, 0) == (pytest.approx(scipy.stats.ttest_1samp(many, 0).pvalue), "t test")


@pytest.mark.parametrize(
    ("a", "b", "low", "p", "method"),
    [
        ([0.2, 0.4], [0.2, 0.4], -0.7764, 1.0, "all differences are 0: rule of three"),
        ([0.75, 0.5, 0.5], [0.5, 0.25, 0.25], -0.5395, 0.25, "all differences are 0.25: rule of"),
        ([3.0, 2.0], [2.0, 1.0], None, 0.5, "all differences are 1: no interval"),
        ([0.5], [0.2], None, None, "one row: no interval"),
        ([0.5, np.nan], [np.nan, 0.2], None, None, "no shared rows"),
    ],
)
def test_degenerate(
    a: list[float], b: list[float], low: float | None, p: float | None, method: str
) -> None:
    setting = Setting("m", scale=OPEN) if max(a) > 1 else SETTING
    found = pair(np.array(a), np.array(b), setting)
    assert (found.low, found.p) == (pytest.approx(low, abs=5e-5), p)
    assert found.method.startswith(method)


def test_only_shared_rows_count() -> None:
    a, b = RNG.random(50), RNG.random(50)
    a[:10], b[40:] = np.nan, np.nan
    found = pair(a, b)
    assert found.n == 30
    assert found.difference == pytest.approx((a - b)[10:40].mean())


def test_groups_widen_the_interval_to_what_they_are_worth() -> None:
    groups = np.repeat(np.arange(50), 10)
    shift = np.repeat(RNG.normal(size=50), 10)
    a = shift + RNG.normal(size=500) / 10
    found = pair(a, np.zeros(500), Setting("m", groups=groups))
    plain = pair(a, np.zeros(500))
    by_group = scipy.stats.ttest_1samp(a.reshape(50, 10).mean(axis=1), 0).confidence_interval()
    assert found.method == (
        "cluster-robust t, 50 groups; sign-flip test, 10,000 draws, whole groups at a time"
    )
    assert (found.low, found.high) == pytest.approx((by_group.low, by_group.high))
    assert found.n == 500
    assert 45 < found.n_effective < 70  # type: ignore[operator]
    assert found.high - found.low > 2 * (plain.high - plain.low)  # type: ignore[operator]


def test_few_groups_are_said_and_one_has_no_interval() -> None:
    few = pair(RNG.random(40), RNG.random(40), Setting("m", groups=np.repeat(np.arange(8), 5)))
    assert "8 groups" in few.method
    assert "fewer than 20 groups: a rough interval" in few.method
    one = pair(RNG.random(4), RNG.random(4), Setting("m", groups=np.zeros(4, dtype=int)))
    assert (one.low, one.method) == (None, "one group: no interval")


def test_groups_of_one_row_are_no_groups() -> None:
    a, b = RNG.random(120), RNG.random(120)
    assert pair(a, b, Setting("rougeL", groups=RNG.permutation(120))) == pair(a, b)


def corpus(name: str, values: Floats, combine: Callable[[Floats], Floats] = ratio) -> Side:
    return Side(name, values, np.column_stack([values, np.ones_like(values)]), combine)


def test_corpus_metric_agrees_with_the_mean_that_it_is() -> None:
    a, b = RNG.random(200), RNG.random(200)
    setting = Setting("chrf", scale=Scale(100.0))
    found = compare(corpus("a", a), corpus("b", b), setting)
    mean = pair(100 * a, 100 * b, setting)
    assert found.method.startswith(
        "percentile bootstrap over rows, 10,000 draws, paired; approximate random"
    )
    assert found.difference == pytest.approx(mean.difference)
    assert found.low == pytest.approx(mean.low, abs=0.4)
    assert found.p == pytest.approx(mean.p, abs=0.02)


def test_corpus_metric_with_unequal_formulas_changes_no_sides() -> None:
    a, b = RNG.random(100), RNG.random(100)
    found = compare(corpus("a", a), corpus("b", b, lambda s: ratio(s)), SETTING)
    assert "share of draws beyond 0" in found.method
    same = compare(corpus("a", a), corpus("b", b), SETTING)
    assert found.p == pytest.approx(same.p, abs=0.04)


def test_swapping_equal_sides_finds_nothing() -> None:
    table = np.column_stack([RNG.random(20), np.ones(20)])
    assert swapped(table, table, ratio, 0)[0] == 1.0


def test_exactly_these_rows() -> None:
    a, b = RNG.random(20), RNG.random(20)
    setting = Setting("m", estimand="exactly-these-rows")
    once = pair(a, b, setting)
    assert once.low == once.high == once.difference
    assert once.p is None
    noise = np.full(20, 0.01)
    many = compare(
        Side("a", a, noise=noise, repeats=4), Side("b", b, noise=noise, repeats=4), setting
    )
    half = scipy.stats.t.ppf(0.975, 60) * np.sqrt(20 * 0.02) / 20
    assert many.high - many.low == pytest.approx(2 * half)  # type: ignore[operator]
    assert "4 repeats" in many.method
    noise[3] = np.nan  # one repeat alone was measured there
    holes = compare(
        Side("a", a, noise=noise, repeats=4), Side("b", b, noise=noise, repeats=4), setting
    )
    assert (holes.low, holes.high) == pytest.approx((many.low, many.high))


def test_holm() -> None:
    assert holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_all_pairs_are_adjusted_together() -> None:
    sides = [Side(name, RNG.normal(size=60)) for name in "abcd"]
    found = compare_all(sides, SETTING)
    assert [(p.a, p.b) for p in found] == [
        ("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")
    ]  # fmt: skip
    assert [p.p_adjusted for p in found] == holm([p.p for p in found])


@pytest.mark.parametrize(
    ("n", "points"),
    [(50, (8.2, 11.6, 16.5, 20.2)), (200, (4.3, 6.1, 8.7, 10.6)), (2000, (1.4, 2.0, 2.8, 3.4))],
)
def test_smallest_difference(n: int, points: tuple[float, ...]) -> None:
    found = [100 * smallest_difference(q, n) for q in (0.05, 0.1, 0.2, 0.3)]
    assert found == pytest.approx(points, abs=0.051)


def test_rows_that_settle() -> None:
    assert [rows_for_share(0.2, gap) for gap in (0.05, 0.03, 0.02)] == [621, 1737, 3917]
    # sd 0.5 at 100 rows, gap 0.1: (2.8016 * 5)^2 = 196.2 rows in all
    assert rows_to_settle(0.05, 100, 0.1) == 97
    assert rows_to_settle(0.01, 100, 0.1) == 0
    assert rows_to_settle(0.05, 100, 0.0) is None
    assert rows_to_settle(0.0, 100, 0.1) is None
    assert rows_to_settle(0.5, 1000, 1e-6) is None


def test_margin_decides_how_many_rows_settle() -> None:
    a, b = RNG.random(100), RNG.random(100)
    small = pair(a, b, Setting("m", margin=0.01)).rows_to_settle
    large = pair(a, b, Setting("m", margin=0.05)).rows_to_settle
    assert small is not None
    assert large is not None
    assert small > 20 * large > 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["right or wrong", "few", "many", "groups"])
def test_false_alarms_are_rare_and_intervals_cover(kind: str, scale: Callable[[int], int]) -> None:
    """Two equal models: 5 % of p values below 0.05, 95 % of intervals around 0; room for chance."""
    rng = np.random.default_rng(13)
    times, alarms, covered = scale(1_000), 0, 0
    groups = np.repeat(np.arange(30), 5) if kind == "groups" else None
    for seed in range(times):
        if kind == "right or wrong":
            skill = rng.random(80)
            a, b = ((rng.random(80) < skill).astype(float) for _ in "ab")
        else:
            n = {"few": 25, "many": 150, "groups": 150}[kind]
            shift = np.repeat(rng.normal(size=30), 5) if kind == "groups" else 0.0
            a, b = rng.normal(size=n) + shift, rng.normal(size=n)
        found = pair(a, b, Setting("m", groups=groups, seed=seed))
        alarms += found.p < 0.05  # type: ignore[operator]
        covered += found.low <= 0 <= found.high  # type: ignore[operator]
    room = 3 * np.sqrt(0.05 * 0.95 / times)
    assert alarms / times <= 0.05 + room
    assert covered / times >= 0.95 - room
