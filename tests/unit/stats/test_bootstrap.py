"""Intervals of means and corpus metrics: known values, SciPy, coverage, degenerate data."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from bakeoff.stats.bootstrap import MANY as MOST
from bakeoff.stats.bootstrap import (
    WILSON,
    corpus_interval,
    mean_interval,
    mean_intervals,
    wilson,
)
from bakeoff.stats.careful import bca_levels
from bakeoff.stats.resampling import draws_for, weights
from bakeoff.stats.scale import OPEN, Scale

RNG = np.random.default_rng(7)
SKEWED = RNG.exponential(size=40)
MANY = RNG.beta(2, 5, size=400)

# weights(6, 3, seed=42)
DRAWN = [[0, 2, 1, 0, 1, 2], [0, 0, 5, 1, 0, 0], [3, 1, 1, 0, 0, 1]]


def ratio(statistics: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(100 * statistics[..., 0] / statistics[..., 1])


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (27, 30, 0.7438, 0.9654),
        (30, 30, 0.8865, 1.0),
        (0, 10, 0.0, 0.2775),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)
    assert (wilson(0, n)[0], wilson(n, n)[1]) == (0.0, 1.0)
    binomial = scipy.stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson(successes, n) == pytest.approx((binomial.low, binomial.high))


def test_right_or_wrong_gets_wilson() -> None:
    found = mean_interval(np.array([1.0] * 27 + [0.0] * 3))
    assert found.method == WILSON
    assert (found.value, found.n) == (0.9, 30)
    assert (found.low, found.high) == wilson(27, 30)


def test_zeros_and_ones_of_an_open_scale_are_amounts() -> None:
    ones, mixed = np.ones(5), np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    found = mean_intervals(np.column_stack([ones, mixed, mixed]), scales=[OPEN, OPEN, Scale()])
    assert [one.method.split()[0] for one in found] == ["all", "bias-corrected", "Wilson"]
    assert found[0].method == "all rows equal: no interval"


def test_zeros_of_a_graded_metric_are_no_share() -> None:
    mixed = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    columns = np.column_stack([np.zeros(5), np.ones(5), mixed])
    zeros, ones, some = mean_intervals(columns, scales=[Scale(graded=True)] * 3)
    assert zeros.method == ones.method == "all rows equal: rule of three"
    assert (zeros.low, ones.high) == (0.0, 1.0)
    assert zeros.high == pytest.approx(1 - 0.05 ** (1 / 5))
    assert ones.low == pytest.approx(0.05 ** (1 / 5))
    assert "Wilson" not in some.method and some.low is not None
    groups = np.array([0, 0, 1, 1, 2])
    found = mean_interval(np.zeros(5), scale=Scale(graded=True), groups=groups)
    assert found.method == "all groups equal: rule of three"


def test_right_or_wrong_in_hundredths() -> None:
    found = mean_interval(100 * np.array([1.0] * 27 + [0.0] * 3), scale=Scale(100.0))
    assert (found.value, found.method) == (90.0, WILSON)
    assert (found.low, found.high) == pytest.approx([100 * end for end in wilson(27, 30)])


def test_percentile_is_that_of_scipy() -> None:
    theirs = scipy.stats.bootstrap(
        (MANY,), np.mean, n_resamples=20_000, method="percentile", rng=1
    ).confidence_interval
    ours = mean_interval(MANY)
    assert ours.method == "percentile bootstrap over rows, 10,000 draws"
    assert ours.low == pytest.approx(theirs.low, abs=0.0015)
    assert ours.high == pytest.approx(theirs.high, abs=0.0015)


def test_bca_is_that_of_scipy() -> None:
    means = SKEWED[RNG.integers(0, 40, size=(40_000, 40))].mean(axis=1)
    left_out = (SKEWED.sum() - SKEWED) / 39
    ours = np.quantile(means, bca_levels(SKEWED.mean(), means, left_out))
    theirs = scipy.stats.bootstrap(
        (SKEWED,), np.mean, n_resamples=40_000, method="BCa", rng=1
    ).confidence_interval
    assert ours == pytest.approx([theirs.low, theirs.high], abs=0.012)


def test_few_rows_get_the_outer_ends_of_bca_and_t() -> None:
    found = mean_interval(SKEWED)
    half = scipy.stats.t.ppf(0.975, 39) * SKEWED.std(ddof=1) / np.sqrt(40)
    assert found.method.startswith(
        "bias-corrected (BCa) bootstrap over rows, 10,000 draws, or Stud"
    )
    assert found.low == pytest.approx(SKEWED.mean() - half)
    assert found.high is not None
    assert found.high > SKEWED.mean() + half


@pytest.mark.parametrize(
    ("values", "value", "has_interval", "method"),
    [
        ([], None, False, "nothing was measured"),
        ([np.nan, np.nan], None, False, "nothing was measured"),
        ([0.3], 0.3, False, "one row: no interval"),
        ([0.3, np.nan], 0.3, False, "one row: no interval"),
        ([0.5, 0.5, 0.5], 0.5, True, "all rows equal: rule of three"),
        ([1.0, 1.0, 1.0], 1.0, True, WILSON),
        ([0.0, 0.0, 0.0], 0.0, True, WILSON),
    ],
)
def test_degenerate(
    values: list[float], value: float | None, has_interval: bool, method: str
) -> None:
    found = mean_interval(np.array(values, dtype=float))
    assert (found.value, found.method) == (value, method)
    assert (found.low is not None, found.high is not None) == (has_interval, has_interval)
    assert found.n == int(np.sum(~np.isnan(values)))


def test_columns_share_their_draws_and_missing_values_are_left_out() -> None:
    matrix = np.column_stack([MANY, MANY, 2 * MANY])
    matrix[::4, 1] = np.nan
    one, holes, double = mean_intervals(matrix)
    assert double.low == pytest.approx(2 * one.low)  # type: ignore[operator]
    assert holes.n == 300
    assert holes == mean_interval(np.delete(MANY, np.s_[::4]))
    assert mean_intervals(matrix[:, [0]]) == [one]


def test_same_seed_same_ends_other_seed_other_ends() -> None:
    assert mean_interval(MANY, seed=1) == mean_interval(MANY, seed=1)
    assert mean_interval(MANY, seed=1).low != mean_interval(MANY, seed=2).low


def test_draws_do_not_depend_on_the_machine() -> None:
    """Whole numbers of a counter-based generator; these are what the seed has always given."""
    (drawn,) = weights(6, 3, seed=42)
    assert drawn.tolist() == DRAWN
    assert [draws_for(n) for n in (10, 2_000, 10_000, 1_000_000)] == [10_000, 10_000, 2_000, 1_000]


def test_chunks_add_up_to_the_draws() -> None:
    parts = list(weights(5_000, 2_000, seed=0))
    assert len(parts) > 1
    assert sum(len(part) for part in parts) == 2_000
    assert all((part.sum(axis=1) == 5_000).all() for part in parts)


def test_groups_are_drawn_whole() -> None:
    groups = np.repeat(np.arange(40), 10)
    values = np.repeat(RNG.random(40), 10)
    grouped = mean_interval(values, groups=groups)
    plain = mean_interval(values)
    by_group = mean_interval(values[::10])
    assert grouped.low == pytest.approx(by_group.low)
    assert grouped.high - grouped.low > 2 * (plain.high - plain.low)  # type: ignore[operator]
    assert grouped.n == 400
    assert "over groups" in grouped.method


def test_groups_without_spread() -> None:
    groups = np.repeat(np.arange(5), 4)
    found = mean_interval(np.ones(20), groups=groups)
    assert found.method == f"{WILSON}, over groups"
    assert (found.low, found.high) == wilson(5, 5)
    assert mean_interval(RNG.random(4), groups=np.zeros(4, dtype=int)).method == (
        "one group: no interval"
    )


def test_very_many_rows_take_the_normal_limit() -> None:
    values = RNG.random(MOST + 1)
    found = mean_interval(values)
    half = 1.959964 * values.std(ddof=1) / np.sqrt(MOST + 1)
    assert found.method.startswith("normal interval: more than 100,000 rows")
    assert found.low == pytest.approx(values.mean() - half)


def test_corpus_metric_that_is_a_mean_gets_the_interval_of_the_mean() -> None:
    for values in (SKEWED, MANY):
        table = np.column_stack([values, np.ones_like(values)])
        mean = mean_interval(100 * values)
        found = corpus_interval(table, ratio)
        assert found.method == mean.method
        assert (found.value, found.low, found.high) == pytest.approx(
            (mean.value, mean.low, mean.high)
        )


def test_corpus_over_groups_and_degenerate() -> None:
    table = np.column_stack([MANY, np.ones_like(MANY)])
    groups = np.repeat(np.arange(40), 10)
    grouped = corpus_interval(table, ratio, groups=groups)
    assert grouped.n == 400
    assert "over groups" in grouped.method
    assert corpus_interval(table[:0], ratio).value is None
    assert corpus_interval(table[:1], ratio).low is None
    assert corpus_interval(np.ones((5, 2)), ratio).method == "all draws equal: no interval"


SHAPES: dict[str, tuple[Callable[[np.random.Generator, int], NDArray[np.float64]], float]] = {
    "bounded": (lambda rng, n: rng.beta(2, 5, n), 2 / 7),
    "mostly zero": (lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.random(n)), 0.25),
    "right or wrong": (lambda rng, n: (rng.random(n) < 0.9).astype(float), 0.9),
}


@pytest.mark.long
@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize(("n", "least"), [(12, 0.89), (50, 0.91), (200, 0.92)])
def test_coverage(shape: str, n: int, least: float, scale: Callable[[int], int]) -> None:
    """Of the 95 % intervals, about 95 % hold the truth; the bound leaves room for chance."""
    draw, truth = SHAPES[shape]
    rng = np.random.default_rng(11)
    times = scale(2_000)
    hits = 0
    for _ in range(times):
        found = mean_interval(draw(rng, n), draws=1_000)
        hits += found.low is None or found.low <= truth <= found.high  # type: ignore[operator]
    assert hits / times >= least
