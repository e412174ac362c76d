"""The methods behind `paired.compare`, one function each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bakeoff.stats import binary, permutation
from bakeoff.stats.apart import FEWEST
from bakeoff.stats.bootstrap import Combine, corpus_draws, corpus_ends, in_words
from bakeoff.stats.careful import FEW, careful_mean
from bakeoff.stats.normal import rounded, t_p, t_quantile
from bakeoff.stats.resampling import Floats, Groups, group_sums
from bakeoff.stats.scale import RULE_OF_THREE, SHARE, Scale, limits, rule_of_three

FEWEST_GROUPS = 20
"""With fewer groups an interval over groups is rough."""
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
    """What one method says; fields as in `paired.Paired`.

    Attributes:
        alike: rows (or groups) that all have the same difference, where that is the case.
    """

    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    method: str = ""
    n_effective: float | None = None
    alike: int | None = None


def difference(a: Side, b: Side, corpus: bool) -> float:
    """A's value minus b's."""
    if corpus:
        return _value(a) - _value(b)
    return float(a.values.mean() - b.values.mean())


def _value(side: Side) -> float:
    if side.statistics is None or side.combine is None:
        raise TypeError(f"{side.model}: a corpus metric needs statistics and their formula")
    return float(side.combine(side.statistics.sum(axis=0)))


def right_or_wrong(a: Floats, b: Floats, full: float) -> Found:
    """Newcombe's interval and exact McNemar; values are 0 or `full`."""
    a, b = a / full, b / full
    table = binary.Table(
        both=int(np.sum((a == 1) & (b == 1))),
        only_a=int(np.sum((a == 1) & (b == 0))),
        only_b=int(np.sum((a == 0) & (b == 1))),
        neither=int(np.sum((a == 0) & (b == 0))),
    )
    differing = table.only_a + table.only_b
    low, high = binary.newcombe(table)
    if not differing:
        seldom = rule_of_three(0.0, table.n, (-1.0, 1.0)) or (low, high)
        low, high = min(low, seldom[0]), max(high, seldom[1])
    method = "Newcombe's interval for paired shares; exact McNemar test"
    if differing < binary.FEWEST_DIFFERING:
        method += f" (they differ on {differing} rows: too few to tell them apart at 5 %)"
    p = binary.mcnemar(table.only_a, table.only_b)
    return Found(
        full * (table.only_a - table.only_b) / table.n,
        full * low,
        full * high,
        p,
        method,
        float(table.n),
        None if differing else table.n,
    )


def plain(d: Floats, seed: int, scale: Scale = SHARE) -> Found:
    """Differences of independent rows: t, or BCa and t where rows are few or skewed."""
    n, mean = len(d), float(d.mean())
    p, test = permutation.sign_flip(d, seed)
    if scale.alike(d):
        return _alike(mean, n, "differences are", (p, test), scale)
    if n >= max(FEW, _SKEW * _skewness(d) ** 2):
        half = t_quantile(n - 1) * float(d.std(ddof=1)) / np.sqrt(n)
        low, high, method = mean - half, mean + half, "Student's t"
    else:
        low, high, method = careful_mean(d, seed)
    low, high = _within(low, high, scale, d)
    return Found(mean, low, high, p, f"{method}; {test}", float(n))


def _alike(gap: float, units: int, what: str, tested: tuple[float, str], scale: Scale) -> Found:
    """No spread to go by: the rule of three, or no interval on an open scale."""
    p, test = tested
    low, high = rule_of_three(gap, units, scale.gaps) or (None, None)
    method = f"all {what} {gap:g}: {'no interval' if low is None else RULE_OF_THREE}; {test}"
    return Found(gap, low, high, p, method, float(units), units)


def _within(low: float, high: float, scale: Scale, gaps: Floats) -> tuple[float, float]:
    """An interval cut where no difference can lie."""
    least, most = limits(scale.gaps, gaps)
    return max(low, least), min(high, most)


def _skewness(d: Floats) -> float:
    return float(np.mean(((d - d.mean()) / d.std()) ** 3))


def grouped(d: Floats, codes: Groups, seed: int, scale: Scale = SHARE) -> Found:
    """Differences of grouped rows: cluster-robust t, sign-flips of whole groups."""
    n, number, mean = len(d), int(codes.max()) + 1, float(d.mean())
    sums = group_sums(d.reshape(-1, 1), codes)[:, 0]
    residual = group_sums((d - mean).reshape(-1, 1), codes)[:, 0]
    error = float(np.sqrt(np.sum(residual**2) * number / (number - 1)) / n)
    p, test = permutation.sign_flip(sums, seed)
    if scale.alike(sums / np.bincount(codes)):
        test = f"{test}, whole groups at a time"
        return _alike(mean, number, "groups have a difference of", (p, test), scale)
    method = f"cluster-robust t, {number} groups; {test}, whole groups at a time"
    method += _few_groups(number)
    half = t_quantile(number - 1) * error
    low, high = _within(mean - half, mean + half, scale, d)
    # A handful of groups cannot say how alike their rows are.
    most = n if number >= FEWEST else number
    effective = rounded(min(float(d.var(ddof=1)) / error**2, most))
    return Found(mean, low, high, p, method, effective)


def _few_groups(number: int) -> str:
    if number >= FEWEST_GROUPS:
        return ""
    return f" (fewer than {FEWEST_GROUPS} groups: a rough interval)"


def corpus_metric(a: Side, b: Side, codes: Groups | None, seed: int, scale: Scale = SHARE) -> Found:
    """Paired bootstrap of the difference; units change sides for the p value."""
    tables = []
    for side in (a, b):
        if side.statistics is None or side.combine is None:
            raise TypeError(f"{side.model}: a corpus metric needs statistics and their formula")
        table = side.statistics
        tables.append((table if codes is None else group_sums(table, codes), side.combine))
    (drawn_a, drawn_b), draws = corpus_draws(tables, seed)
    gaps, gap = drawn_a - drawn_b, _value(a) - _value(b)
    if a.combine == b.combine:
        p, test = permutation.swapped(tables[0][0], tables[1][0], tables[0][1], seed)
    else:
        tail = min(np.mean(gaps <= 0), np.mean(gaps >= 0))
        p, test = min(1.0, 2 * (float(tail) * draws + 1) / (draws + 1)), "share of draws beyond 0"
    units = len(tables[0][0])
    if scale.alike(gaps):
        return _alike(gap, units, "draws have a difference of", (p, test), scale)
    low, high = corpus_ends(gap, gaps, _left_out(*tables[0]) - _left_out(*tables[1]))
    low, high = _within(low, high, scale, gaps)
    method = f"{in_words(units, 'rows' if codes is None else 'groups', draws)}, paired; {test}"
    if codes is not None:
        method += _few_groups(units)
    return Found(gap, low, high, p, method, float(units))


def _left_out(table: Floats, combine: Combine) -> Floats:
    """The metric without each unit in turn."""
    return np.asarray(combine(table.sum(axis=0) - table), dtype=np.float64)


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
    # Here repeats are what was drawn: worth as many rows as would leave the same freedom.
    return Found(gap, gap - half, gap + half, p, method, float(freedom + 1))
