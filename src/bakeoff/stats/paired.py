"""Two models on the same rows: the difference, its 95 % interval and a p value.

Which method is taken (`compare` decides by the data):

| data | interval | p value |
|---|---|---|
| right or wrong | Newcombe's score interval for pairs | exact McNemar |
| other scores, 100 rows or more | Student's t | sign-flip permutation |
| other scores, fewer or skewed | outer ends of BCa and t | sign-flip permutation |
| groups of rows | cluster-robust t | sign-flip by group |
| corpus metric | paired bootstrap over rows or groups | approximate randomisation |
| exactly these rows | t from the spread between repeats | t |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.stats.differences import (
    Found,
    Side,
    corpus_metric,
    difference,
    grouped,
    is_binary,
    plain,
    right_or_wrong,
    these_rows,
)
from bakeoff.stats.normal import Z, rounded
from bakeoff.stats.planning import rows_to_settle
from bakeoff.stats.resampling import Groups

__all__ = ["Paired", "Setting", "Side", "compare", "compare_all", "holm"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all pairs of a metric.

    Attributes:
        metric: name of the output.
        groups: shape (rows,); rows with one number belong together.
        margin: the difference that matters, in the metric's own units; 0 for the one observed.
        seed: of all draws.
        estimand: whether the result is to hold for rows like these or for these alone.
    """

    metric: str
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
        n_effective: independent rows that the grouped rows are worth; None for corpus metrics
            over groups.
        rows_to_settle: further rows until a difference of the margin (without one: of the size
            seen) can be told; 0 where these suffice.
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
    found = [compare(a, b, setting) for a, b in combinations(sides, 2)]
    adjusted = holm([pair.p for pair in found])
    return [replace(pair, p_adjusted=p) for pair, p in zip(found, adjusted, strict=True)]


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
        found = corpus_metric(a, b, groups, setting.seed)
    elif groups is not None:
        found = grouped(a.values - b.values, groups, setting.seed)
    elif is_binary(a.values) and is_binary(b.values):
        found = right_or_wrong(a.values, b.values)
    else:
        found = plain(a.values - b.values, setting.seed)
    return _finished(a, b, setting, found, n)


def _finished(a: Side, b: Side, setting: Setting, found: Found, n: int) -> Paired:
    settle = None
    if found.low is not None and found.high is not None:
        error = (found.high - found.low) / (2 * Z)
        settle = rows_to_settle(error, n, setting.margin or abs(found.difference))
    return Paired(
        a.model,
        b.model,
        setting.metric,
        rounded(found.difference),
        None if found.low is None else rounded(found.low),
        None if found.high is None else rounded(found.high),
        None if found.p is None else rounded(found.p),
        method=found.method,
        n=n,
        n_effective=found.n_effective,
        rows_to_settle=settle,
    )


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
