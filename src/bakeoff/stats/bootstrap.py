"""95 % intervals of means and of corpus metrics, over rows or groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.stats.normal import NORMAL, Z, rounded, t_quantile
from bakeoff.stats.resampling import Floats, Groups, Units, draws_for, gather, group_sums, weights

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]

FEW = 100
"""Below this many units an interval is bias-corrected (BCa) and widened to Student's t."""
MANY = 100_000
"""Above this many units a mean gets the normal interval, which its bootstrap tends to."""
WILSON = "Wilson score interval of a share"
_LEVELS = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its 95 % interval.

    Attributes:
        value: None where nothing was measured.
        low, high: None where no interval can be given.
        method: how the interval was made, in words.
        n: rows that the value rests on.
    """

    value: float | None
    low: float | None
    high: float | None
    method: str
    n: int


def mean_interval(
    values: NDArray[np.float64],
    *,
    groups: NDArray[np.intp] | None = None,
    seed: int = 0,
    draws: int | None = None,
) -> Interval:
    """The mean of one column; see `mean_intervals`."""
    column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    return mean_intervals(column, groups=groups, seed=seed, draws=draws)[0]


def mean_intervals(
    matrix: NDArray[np.float64],
    *,
    shares: Sequence[bool] | None = None,
    groups: NDArray[np.intp] | None = None,
    seed: int = 0,
    draws: int | None = None,
) -> list[Interval]:
    """Means of columns that share their rows, with 95 % intervals.

    - shares (rows of zeros and ones), without groups: Wilson's score interval;
    - fewer than 100 rows (or groups): bias-corrected and accelerated bootstrap (Efron 1987) or
      Student's t, whichever end lies further out (alone, either covers too rarely in small
      samples), within the range of the draws;
    - up to 100,000: percentile bootstrap; above: the normal interval, which it tends to;
    - no row, one row, one group, or all values equal: no interval, and `method` says so. Shares
      in groups that all hold only zeros, or only ones: Wilson over groups.

    Args:
        matrix: shape (rows, metrics); NaN is "not measured". Repeats of a row are averaged before.
        shares: for each column, whether zeros and ones are wrong and right; false for open
            scales, where they are amounts. Default: all are.
        groups: rows with one number are drawn together.
        seed: of the draws; the same seed draws the same rows for every column.
        draws: number of draws; default `draws_for`.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    kinds = [True] * matrix.shape[1] if shares is None else shares
    settled = [
        _settled(column, groups, share) for column, share in zip(matrix.T, kinds, strict=True)
    ]
    open_columns = [at for at, found in enumerate(settled) if found is None]
    if open_columns:
        units = gather(matrix[:, open_columns], groups)
        kind = "rows" if groups is None else "groups"
        for at, found in zip(open_columns, _resampled(units, seed, draws, kind), strict=True):
            settled[at] = found
    return [found for found in settled if found is not None]


def _settled(column: Floats, groups: Groups | None, share: bool) -> Interval | None:
    """The interval where no bootstrap is needed."""
    seen = ~np.isnan(column)
    values, n = column[seen], int(seen.sum())
    if n == 0:
        return Interval(None, None, None, "nothing was measured", 0)
    mean = rounded(float(values.mean()))
    units = n if groups is None else len(np.unique(groups[seen]))
    if units == 1:
        what = "one row" if n == 1 else "one group"
        return Interval(mean, None, None, f"{what}: no interval", n)
    equal = bool((values == values[0]).all())
    binary = share and bool(np.isin(values, (0.0, 1.0)).all())
    if binary and (groups is None or equal):
        low, high = wilson(mean * units, units)
        return Interval(mean, low, high, WILSON if groups is None else f"{WILSON}, over groups", n)
    if equal:
        return Interval(mean, None, None, "all rows equal: no interval", n)
    return None


def wilson(successes: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % score interval for a share (Wilson 1927)."""
    share, squared = successes / n, Z * Z
    centre = (share + squared / (2 * n)) / (1 + squared / n)
    half = Z * np.sqrt(share * (1 - share) / n + squared / (4 * n * n)) / (1 + squared / n)
    # Both ends are exact where nothing or everything is right; rounding would leave 1e-17 there.
    low = 0.0 if successes <= 0 else max(0.0, float(centre - half))
    high = 1.0 if successes >= n else min(1.0, float(centre + half))
    return rounded(low), rounded(high)


def _resampled(units: Units, seed: int, draws: int | None, kind: str) -> list[Interval]:
    size = len(units.sums)
    total, count = units.sums.sum(axis=0), units.counts.sum(axis=0)
    value = total / count
    if size > MANY:
        half = Z * _standard_error(units, value)
        bounds = np.stack([value - half, value + half])
        method = f"normal interval: more than {MANY:,} {kind}, where the bootstrap tends to it"
    else:
        number = draws_for(size) if draws is None else draws
        drawn = np.concatenate([_means(w, units) for w in weights(size, number, seed)])
        left_out = (total - units.sums) / np.maximum(count - units.counts, 1.0)
        bounds, name = _bounds(value, drawn, left_out)
        method = _in_words(name, kind, number)
    return [
        Interval(rounded(value[at]), rounded(low), rounded(high), method, int(count[at]))
        for at, (low, high) in enumerate(bounds.T)
    ]


def _in_words(name: str, kind: str, draws: int) -> str:
    if name == "BCa/t":
        what = f"bias-corrected (BCa) bootstrap over {kind}, {draws:,} draws"
        return f"{what}, or Student's t where it reaches further"
    return f"{name} bootstrap over {kind}, {draws:,} draws"


def _means(weight: Floats, units: Units) -> Floats:
    counts = weight @ units.counts
    # A draw without one measured row (possible where few rows are measured) tells nothing.
    return np.where(counts > 0, weight @ units.sums / np.maximum(counts, 1.0), np.nan)


def _standard_error(units: Units, value: Floats) -> Floats:
    size = len(units.sums)
    residuals = units.sums - units.counts * value
    found = np.sqrt((residuals**2).sum(axis=0) * size / (size - 1)) / units.counts.sum(axis=0)
    return np.asarray(found)


def _bounds(value: Floats, drawn: Floats, left_out: Floats) -> tuple[Floats, str]:
    """Ends of the intervals, shape (2, k), and the method's name."""
    if len(left_out) >= FEW:
        return np.nanquantile(drawn, _LEVELS, axis=0), "percentile"
    ends = [_careful(value[at], drawn[:, at], left_out[:, at]) for at in range(len(value))]
    return np.stack(ends, axis=1), "BCa/t"


def _careful(value: float, drawn: Floats, left_out: Floats) -> Floats:
    """The outer ends of BCa and Student's t, within the range of the draws."""
    size = len(left_out)
    low, high = np.nanquantile(drawn, bca_levels(value, drawn, left_out))
    error = np.sqrt((size - 1) / size * np.sum((left_out - left_out.mean()) ** 2))
    half = t_quantile(size - 1) * error
    ends = np.array([min(low, value - half), max(high, value + half)])
    return np.asarray(np.clip(ends, np.nanmin(drawn), np.nanmax(drawn)))


def careful_interval(values: Floats, seed: int) -> Interval:
    """The mean of at least two values by the outer ends of BCa and Student's t, for any number."""
    value, size = float(values.mean()), len(values)
    column = values.reshape(-1, 1)
    units = Units(column, np.ones_like(column))
    number = draws_for(size)
    drawn = np.concatenate([_means(w, units) for w in weights(size, number, seed)])[:, 0]
    left_out = (values.sum() - values) / (size - 1)
    low, high = _careful(value, drawn, left_out)
    method = _in_words("BCa/t", "rows", number)
    return Interval(rounded(value), rounded(low), rounded(high), method, size)


def bca_levels(value: float, drawn: Floats, left_out: Floats) -> tuple[float, float]:
    """Quantiles of the draws that a BCa interval takes instead of 2.5 % and 97.5 %.

    Args:
        value: the statistic.
        drawn: its bootstrap draws.
        left_out: the statistic without each unit in turn (jackknife).
    """
    drawn = drawn[~np.isnan(drawn)]
    below = (np.sum(drawn < value) + np.sum(drawn <= value)) / (2 * len(drawn))
    if not 0.0 < below < 1.0:
        return _LEVELS
    bias = NORMAL.inv_cdf(float(below))
    centred = left_out.mean() - left_out
    spread = float(np.sum(centred**2)) ** 1.5
    acceleration = float(np.sum(centred**3)) / (6.0 * spread) if spread > 0 else 0.0
    ends = []
    for level in _LEVELS:
        shifted = bias + NORMAL.inv_cdf(level)
        slope = 1.0 - acceleration * shifted
        ends.append(NORMAL.cdf(bias + shifted / slope) if slope > 0 else level)
    return min(ends), max(ends)


def corpus_interval(
    statistics: NDArray[np.float64],
    combine: Combine,
    *,
    groups: NDArray[np.intp] | None = None,
    seed: int = 0,
    draws: int | None = None,
) -> Interval:
    """A corpus metric with its 95 % bootstrap interval over rows (or groups).

    Methods as in `mean_intervals`, with jackknife standard errors for Student's t. No interval
    for fewer than two units, and none where all draws are equal.

    Args:
        statistics: shape (rows, k), sufficient statistics that add up.
        combine: summed statistics, shape (k,) or (draws, k), to the value.
        groups: rows with one number are drawn together.
        seed: of the draws.
        draws: number of draws; default `draws_for`.
    """
    table, n = np.asarray(statistics, dtype=np.float64), len(statistics)
    if n == 0:
        return Interval(None, None, None, "nothing was measured", 0)
    kind = "rows" if groups is None else "groups"
    if groups is not None:
        table = group_sums(table, np.unique(groups, return_inverse=True)[1])
    total = table.sum(axis=0)
    value = rounded(float(combine(total)))
    if len(table) == 1:
        return Interval(value, None, None, f"one {kind[:-1]}: no interval", n)
    drawn, number = corpus_draws([(table, combine)], seed, draws)
    if np.ptp(drawn[0]) < 1e-12:
        return Interval(value, None, None, "all draws equal: no interval", n)
    left_out = combine(total - table).reshape(-1, 1)
    bounds, name = _bounds(np.array([value]), drawn[0].reshape(-1, 1), left_out)
    method = _in_words(name, kind, number)
    return Interval(value, rounded(bounds[0, 0]), rounded(bounds[1, 0]), method, n)


def corpus_draws(
    sides: Sequence[tuple[Floats, Combine]], seed: int, draws: int | None = None
) -> tuple[list[Floats], int]:
    """Draws of one or more corpus metrics over the same units, and how many there are."""
    size = len(sides[0][0])
    number = draws_for(size) if draws is None else draws
    parts: list[list[Floats]] = [[] for _ in sides]
    for weight in weights(size, number, seed):
        for part, (table, combine) in zip(parts, sides, strict=True):
            part.append(np.asarray(combine(weight @ table), dtype=np.float64))
    return [np.concatenate(part) for part in parts], number
