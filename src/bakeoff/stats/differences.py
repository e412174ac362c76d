"""The methods behind `paired.compare`, one function each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.stats import binary, permutation
from bakeoff.stats.bootstrap import FEW, Combine, careful_interval, corpus_draws
from bakeoff.stats.normal import rounded, t_p, t_quantile
from bakeoff.stats.resampling import Floats, Groups, group_sums

FEWEST_GROUPS = 20
"""With fewer groups an interval over groups is not to be relied on."""
_SKEW = 25.0
"""Student's t wants this many rows for each square of the skewness (Cochran's rule)."""


@dataclass(frozen=True, slots=True)
class Side:
    """One model's scores by row, in the order of the data.

    Attributes:
        model: id.
        values: shape (rows,), repeats averaged; NaN is "not measured".
        statistics: shape (rows, k) for corpus metrics.
        combine: for corpus metrics; compared by equality between models.
        noise: shape (rows,), variance between repeats divided by their number (NaN for a row
            with one), or None without repeats. For `exactly-these-rows` alone.
        repeats: repeats a row.
    """

    model: str
    values: Floats
    statistics: Floats | None = None
    combine: Combine | None = None
    noise: Floats | None = None
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """What one method says; fields as in `paired.Paired`."""

    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    method: str = ""
    n_effective: float | None = None


def is_binary(values: Floats) -> bool:
    """Whether all values are 0 or 1."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def difference(a: Side, b: Side, corpus: bool) -> float:
    """A's value minus b's."""
    if corpus:
        return _value(a) - _value(b)
    return float(a.values.mean() - b.values.mean())


def _value(side: Side) -> float:
    if side.statistics is None or side.combine is None:
        raise TypeError(f"{side.model}: a corpus metric needs statistics and their formula")
    return float(side.combine(side.statistics.sum(axis=0)))


def right_or_wrong(a: Floats, b: Floats) -> Found:
    """Newcombe's interval and exact McNemar."""
    table = binary.Table(
        both=int(np.sum((a == 1) & (b == 1))),
        only_a=int(np.sum((a == 1) & (b == 0))),
        only_b=int(np.sum((a == 0) & (b == 1))),
        neither=int(np.sum((a == 0) & (b == 0))),
    )
    differing = table.only_a + table.only_b
    low, high = binary.newcombe(table)
    method = "Newcombe's interval for paired shares; exact McNemar test"
    if differing < binary.FEWEST_DIFFERING:
        method += f" (they differ on {differing} rows: too few to tell them apart at 5 %)"
    p = binary.mcnemar(table.only_a, table.only_b)
    return Found((table.only_a - table.only_b) / table.n, low, high, p, method, float(table.n))


def plain(d: Floats, seed: int) -> Found:
    """Differences of independent rows: t, or BCa and t where rows are few or skewed."""
    n, mean = len(d), float(d.mean())
    p, test = permutation.sign_flip(d, seed)
    if not np.ptp(d) > 0:
        low = high = 0.0 if mean == 0 else None
        return Found(mean, low, high, p, f"all differences are {mean:g}; {test}", float(n))
    if n >= max(FEW, _SKEW * _skewness(d) ** 2):
        half = t_quantile(n - 1) * float(d.std(ddof=1)) / np.sqrt(n)
        return Found(mean, mean - half, mean + half, p, f"Student's t; {test}", float(n))
    interval = careful_interval(d, seed)
    return Found(mean, interval.low, interval.high, p, f"{interval.method}; {test}", float(n))


def _skewness(d: Floats) -> float:
    return float(np.mean(((d - d.mean()) / d.std()) ** 3))


def grouped(d: Floats, codes: Groups, seed: int) -> Found:
    """Differences of grouped rows: cluster-robust t, sign-flips of whole groups."""
    n, number, mean = len(d), int(codes.max()) + 1, float(d.mean())
    sums = group_sums(d.reshape(-1, 1), codes)[:, 0]
    residual = group_sums((d - mean).reshape(-1, 1), codes)[:, 0]
    error = float(np.sqrt(np.sum(residual**2) * number / (number - 1)) / n)
    p, test = permutation.sign_flip(sums, seed)
    method = f"cluster-robust t, {number} groups; {test}, whole groups at a time"
    if number < FEWEST_GROUPS:
        method += f" (fewer than {FEWEST_GROUPS} groups: not to be relied on)"
    half = t_quantile(number - 1) * error
    effective = n * float(d.var(ddof=1)) / n / error**2 if error > 0 else float(number)
    return Found(mean, mean - half, mean + half, p, method, rounded(min(effective, n)))


def corpus_metric(a: Side, b: Side, codes: Groups | None, seed: int) -> Found:
    """Paired bootstrap of the difference; units change sides for the p value."""
    tables = []
    for side in (a, b):
        if side.statistics is None or side.combine is None:
            raise TypeError(f"{side.model}: a corpus metric needs statistics and their formula")
        table = side.statistics
        tables.append((table if codes is None else group_sums(table, codes), side.combine))
    (drawn_a, drawn_b), draws = corpus_draws(tables, seed)
    gaps = drawn_a - drawn_b
    low, high = np.quantile(gaps, (0.025, 0.975))
    kind = "rows" if codes is None else "groups"
    if a.combine == b.combine:
        p, test = permutation.swapped(tables[0][0], tables[1][0], tables[0][1], seed)
    else:
        tail = min(np.mean(gaps <= 0), np.mean(gaps >= 0))
        p, test = min(1.0, 2 * (float(tail) * draws + 1) / (draws + 1)), "share of draws beyond 0"
    method = f"paired bootstrap over {kind}, {draws:,} draws; {test}"
    if codes is not None and int(codes.max()) + 1 < FEWEST_GROUPS:
        method += f" (fewer than {FEWEST_GROUPS} groups: not to be relied on)"
    effective = float(len(a.values)) if codes is None else None
    return Found(_value(a) - _value(b), float(low), float(high), p, method, effective)


def _mean_noise(noise: Floats) -> float:
    """Over the rows with repeats; rows of which only one was measured are taken to be like them."""
    seen = noise[~np.isnan(noise)]
    return float(seen.mean()) if len(seen) else 0.0


def these_rows(a: Side, b: Side, corpus: bool) -> Found:
    """Only the spread between repeats counts; with one answer a row there is none to see."""
    gap, n = difference(a, b, corpus), len(a.values)
    if corpus:
        return Found(gap, method="exactly these rows: no interval for corpus metrics")
    if a.noise is None or b.noise is None or min(a.repeats, b.repeats) < 2:
        return Found(
            gap,
            gap,
            gap,
            method="exactly these rows, one answer each: the difference itself",
        )
    error = float(np.sqrt(n * (_mean_noise(a.noise) + _mean_noise(b.noise)))) / n
    freedom = n * (min(a.repeats, b.repeats) - 1)
    half = t_quantile(freedom) * error
    p = t_p(gap / error, freedom) if error > 0 else float(gap == 0)
    method = f"exactly these rows: Student's t over {min(a.repeats, b.repeats)} repeats"
    return Found(gap, gap - half, gap + half, p, method, float(n))
