"""95 % intervals of means and of corpus metrics, over rows or groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.stats.careful import FEW, LEVELS, careful_ends, careful_words
from bakeoff.stats.normal import Z, rounded
from bakeoff.stats.resampling import Floats, Groups, Units, draws_for, gather, group_sums, weights
from bakeoff.stats.scale import OPEN, RULE_OF_THREE, SHARE, Bounds, Scale, limits, rule_of_three

Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]

MANY = 100_000
"""Above this many units a mean gets the normal interval, which its bootstrap tends to."""
WILSON = "Wilson score interval of a share"


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
    scale: Scale = SHARE,
    groups: NDArray[np.intp] | None = None,
    seed: int = 0,
    draws: int | None = None,
) -> Interval:
    """The mean of one column; see `mean_intervals`."""
    column = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    return mean_intervals(column, scales=[scale], groups=groups, seed=seed, draws=draws)[0]


def mean_intervals(
    matrix: NDArray[np.float64],
    *,
    scales: Sequence[Scale] | None = None,
    groups: NDArray[np.intp] | None = None,
    seed: int = 0,
    draws: int | None = None,
) -> list[Interval]:
    """Means of columns, with 95 % intervals; rows without a value have no say in them.

    - right or wrong (rows of zeros and full scores), without groups: Wilson's score interval; in
      groups with equal shares: Wilson over groups;
    - other rows (or groups) that are all equal: the rule of three, or none on an open scale;
    - fewer than 100 rows (or groups): bias-corrected and accelerated bootstrap (Efron 1987) or
      Student's t, whichever end lies further out (alone, either covers too rarely in small
      samples), within the metric's scale;
    - up to 100,000: percentile bootstrap; above: the normal interval, which it tends to;
    - no row, one row, one group: no interval, and `method` says so.

    Args:
        matrix: shape (rows, metrics); NaN is "not measured". Repeats of a row are averaged before.
        scales: of each column. Default: all from 0 to 1.
        groups: rows with one number are drawn together.
        seed: of the draws; the same seed draws the same for columns that have the same rows.
        draws: number of draws; default `draws_for`.
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    kinds = [SHARE] * matrix.shape[1] if scales is None else list(scales)
    measured = ~np.isnan(matrix)
    alike: dict[bytes, list[int]] = {}
    for at in range(matrix.shape[1]):
        alike.setdefault(measured[:, at].tobytes(), []).append(at)
    found: dict[int, Interval] = {}
    for columns in alike.values():
        seen = measured[:, columns[0]]
        part = matrix[np.ix_(seen, np.array(columns))]
        of_rows = None if groups is None else groups[seen]
        intervals = _measured(part, [kinds[at] for at in columns], of_rows, seed, draws)
        found |= dict(zip(columns, intervals, strict=True))
    return [found[at] for at in range(matrix.shape[1])]


def _measured(
    matrix: Floats, scales: Sequence[Scale], groups: Groups | None, seed: int, draws: int | None
) -> list[Interval]:
    """Intervals of columns without holes."""
    n = len(matrix)
    if n == 0:
        return [Interval(None, None, None, "nothing was measured", 0) for _ in scales]
    units = gather(matrix, groups)
    if len(units.sums) == 1:
        method = f"one {'row' if n == 1 else 'group'}: no interval"
        return [Interval(rounded(float(m)), None, None, method, n) for m in matrix.mean(axis=0)]
    kind = "rows" if groups is None else "groups"
    settled = [
        _settled(column, means, scale, kind)
        for column, means, scale in zip(
            matrix.T, (units.sums / units.counts).T, scales, strict=True
        )
    ]
    left = [at for at, interval in enumerate(settled) if interval is None]
    if left:
        open_units = Units(units.sums[:, left], units.counts)
        ends = [limits(scales[at].bounds, matrix[:, at]) for at in left]
        for at, interval in zip(left, _resampled(open_units, ends, seed, draws, kind), strict=True):
            settled[at] = interval
    return [interval for interval in settled if interval is not None]


def _settled(values: Floats, means: Floats, scale: Scale, kind: str) -> Interval | None:
    """The interval where no bootstrap is needed; `means` are those of the units."""
    n, units, mean = len(values), len(means), rounded(float(values.mean()))
    equal = scale.alike(means)
    if scale.binary(values) and (kind == "rows" or equal):
        full = scale.full or 1.0
        low, high = (full * end for end in wilson(mean / full * units, units))
        return Interval(mean, low, high, WILSON if kind == "rows" else f"{WILSON}, over groups", n)
    if equal:
        ends = rule_of_three(mean, units, scale.bounds)
        if ends is None:
            return Interval(mean, None, None, f"all {kind} equal: no interval", n)
        low, high = map(rounded, ends)
        return Interval(mean, low, high, f"all {kind} equal: {RULE_OF_THREE}", n)
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


def _resampled(
    units: Units, ends: Sequence[Bounds], seed: int, draws: int | None, kind: str
) -> list[Interval]:
    size, rows = len(units.sums), int(units.counts.sum())
    total = units.sums.sum(axis=0)
    value = total / rows
    if size > MANY:
        half = Z * _standard_error(units, value)
        bounds = np.stack([value - half, value + half])
        method = f"normal interval: more than {MANY:,} {kind}, where the bootstrap tends to it"
    else:
        number = draws_for(size) if draws is None else draws
        drawn = np.concatenate(
            [w @ units.sums / (w @ units.counts) for w in weights(size, number, seed)]
        )
        left_out = (total - units.sums) / (rows - units.counts)
        bounds = _bounds(value, drawn, left_out)
        method = in_words(size, kind, number)
    bounds = np.clip(bounds, *np.array(ends).T)
    return [
        Interval(rounded(value[at]), rounded(low), rounded(high), method, rows)
        for at, (low, high) in enumerate(bounds.T)
    ]


def in_words(units: int, kind: str, draws: int) -> str:
    """The name of the bootstrap that so many rows (or groups) get."""
    if units < FEW:
        return careful_words(kind, draws)
    return f"percentile bootstrap over {kind}, {draws:,} draws"


def _standard_error(units: Units, value: Floats) -> Floats:
    size = len(units.sums)
    residuals = units.sums - units.counts * value
    found = np.sqrt((residuals**2).sum(axis=0) * size / (size - 1)) / units.counts.sum()
    return np.asarray(found)


def _bounds(value: Floats, drawn: Floats, left_out: Floats) -> Floats:
    """Ends of the intervals, shape (2, k)."""
    if len(left_out) >= FEW:
        return np.asarray(np.quantile(drawn, LEVELS, axis=0))
    ends = [careful_ends(value[at], drawn[:, at], left_out[:, at]) for at in range(len(value))]
    return np.array(ends).T


def corpus_interval(
    statistics: NDArray[np.float64],
    combine: Combine,
    *,
    scale: Scale = OPEN,
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
        scale: of the value.
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
    (drawn,), number = corpus_draws([(table, combine)], seed, draws)
    if scale.alike(drawn):
        return Interval(value, None, None, "all draws equal: no interval", n)
    low, high = corpus_ends(value, drawn, combine(total - table))
    low, high = np.clip((low, high), *limits(scale.bounds, drawn))
    return Interval(value, rounded(low), rounded(high), in_words(len(table), kind, number), n)


def corpus_ends(value: float, drawn: Floats, left_out: Floats) -> tuple[float, float]:
    """Ends for one corpus metric, or the difference of two; arguments as in `careful_ends`."""
    bounds = _bounds(np.array([value]), drawn.reshape(-1, 1), left_out.reshape(-1, 1))
    return float(bounds[0, 0]), float(bounds[1, 0])


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
