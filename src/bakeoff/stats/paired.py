"""Two models on the same rows: the difference, its 95 % interval and a p value.

Which method is taken (`compare` decides by the data):

| data | interval | p value |
|---|---|---|
| right or wrong | Newcombe's score interval for pairs | exact McNemar |
| other scores, 100 rows or more | Student's t | sign-flip permutation |
| other scores, fewer or skewed | outer ends of BCa and t | sign-flip permutation |
| other scores, all differences equal | rule of three, or none | sign-flip permutation |
| groups of rows | cluster-robust t | sign-flip by group |
| corpus metric, 100 rows (groups) or more | paired bootstrap | approximate randomisation |
| corpus metric, fewer | outer ends of BCa and t | approximate randomisation |
| exactly these rows | t from the spread between repeats | t |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.stats.apart import FEWEST, settled
from bakeoff.stats.differences import (
    Found,
    Side,
    corpus_metric,
    difference,
    grouped,
    plain,
    right_or_wrong,
    these_rows,
)
from bakeoff.stats.normal import Z, rounded
from bakeoff.stats.planning import MOST, rows_to_settle
from bakeoff.stats.resampling import Groups
from bakeoff.stats.scale import SHARE, Scale, units_for

__all__ = ["Paired", "Setting", "Side", "adjusted", "compare", "compare_all", "holm"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all pairs of a metric.

    Attributes:
        metric: name of the output.
        scale: of its values.
        groups: shape (rows,); rows with one number belong together.
        margin: the difference that matters, in the metric's own units; 0 for the one observed.
        seed: of all draws.
        estimand: whether the result is to hold for rows like these or for these alone.
    """

    metric: str
    scale: Scale = SHARE
    groups: Groups | None = None
    margin: float = 0.0
    seed: int = 0
    estimand: Literal["rows-like-these", "exactly-these-rows"] = "rows-like-these"


@dataclass(frozen=True, slots=True)
class Paired:
    """Model a minus model b; the fields are those of `report.Pair`.

    Attributes:
        difference: None where no row is shared.
        low, high: 95 % interval, or None.
        p: two-sided, of no difference.
        p_adjusted: by Holm over the pairs that were asked together.
        method: in words.
        n: shared rows.
        n_effective: independent rows that the rows are worth; the number of groups for corpus
            metrics, and where it is below 10. Exactly these rows: what their repeats are worth,
            None where one answer each leaves nothing to chance.
        rows_to_settle: further rows until a difference of the margin (without one: of the size
            seen) can be told; 0 only where the pair is told apart or surely closer than the
            margin.
    """

    a: str
    b: str
    metric: str
    difference: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    method: str = ""
    n: int = 0
    n_effective: float | None = None
    rows_to_settle: int | None = None


def compare_all(sides: Sequence[Side], setting: Setting) -> list[Paired]:
    """Every pair of models, with p values adjusted by Holm over all of them."""
    return adjusted([compare(a, b, setting) for a, b in combinations(sides, 2)], setting)


def adjusted(pairs: Sequence[Paired], setting: Setting) -> list[Paired]:
    """The pairs that were asked together, with p values by Holm."""
    return [
        _at_least_one(replace(pair, p_adjusted=p), setting.margin)
        for pair, p in zip(pairs, holm([pair.p for pair in pairs]), strict=True)
    ]


def compare(a: Side, b: Side, setting: Setting) -> Paired:
    """One pair, on the rows that both were measured on."""
    shared = ~np.isnan(a.values) & ~np.isnan(b.values)
    n = int(shared.sum())
    if n == 0:
        return Paired(a.model, b.model, setting.metric, None, method="no shared rows")
    groups = _groups(setting.groups, shared)
    a, b = _only(a, shared), _only(b, shared)
    corpus = a.statistics is not None and b.statistics is not None
    if setting.estimand == "exactly-these-rows":
        found = these_rows(a, b, corpus)
    elif groups is not None and int(groups.max()) == 0:
        found = Found(difference(a, b, corpus), method="one group: no interval")
    elif n == 1:
        found = Found(difference(a, b, corpus), method="one row: no interval")
    elif corpus:
        found = corpus_metric(a, b, groups, setting.seed, setting.scale)
    elif groups is not None:
        found = grouped(a.values - b.values, groups, setting.seed, setting.scale)
    elif setting.scale.binary(a.values) and setting.scale.binary(b.values):
        found = right_or_wrong(a.values, b.values, setting.scale.full or 1.0)
    else:
        found = plain(a.values - b.values, setting.seed, setting.scale)
    return _finished(a, b, setting, found, n)


def _finished(a: Side, b: Side, setting: Setting, found: Found, n: int) -> Paired:
    method, effective = found.method, found.n_effective
    if effective is not None and effective < FEWEST:
        method += f" (worth {effective:.3g} independent rows: fewer than {FEWEST} decide nothing)"
    pair = Paired(
        a.model,
        b.model,
        setting.metric,
        rounded(found.difference),
        None if found.low is None else rounded(found.low),
        None if found.high is None else rounded(found.high),
        None if found.p is None else rounded(found.p),
        method=method,
        n=n,
        n_effective=effective,
        rows_to_settle=_more(found, setting, n),
    )
    return _at_least_one(pair, setting.margin)


def _at_least_one(pair: Paired, margin: float) -> Paired:
    """What is not settled needs more rows, however many an estimate of its error asks for."""
    if pair.rows_to_settle == 0 and not settled(pair, margin):
        return replace(pair, rows_to_settle=1)
    return pair


def _more(found: Found, setting: Setting, n: int) -> int | None:
    """Further rows until the margin, or else the difference seen, can be told."""
    if found.low is None or found.high is None:
        return None
    gap = setting.margin or abs(found.difference)
    if found.alike is None:
        more = rows_to_settle((found.high - found.low) / (2 * Z), n, gap)
    else:
        needed = units_for(gap, found.difference, setting.scale.gaps) * n / found.alike
        more = max(0, ceil(needed) - n) if isfinite(needed) and needed <= MOST else None
    if more is None or found.n_effective is None:
        return more
    return max(more, ceil(n * (FEWEST / found.n_effective - 1)))


def _only(side: Side, shared: NDArray[np.bool_]) -> Side:
    return replace(
        side,
        values=side.values[shared],
        statistics=None if side.statistics is None else side.statistics[shared],
        noise=None if side.noise is None else side.noise[shared],
    )


def _groups(groups: Groups | None, shared: NDArray[np.bool_]) -> Groups | None:
    """Groups of the shared rows, from 0; None where every row is its own."""
    if groups is None:
        return None
    names, codes = np.unique(groups[shared], return_inverse=True)
    return None if len(names) == len(codes) else codes


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for being looked at together (Holm 1979); None stays None."""
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, at) in enumerate(known):
        running = max(running, min(1.0, (len(known) - rank) * p))
        adjusted[at] = rounded(running)
    return adjusted
