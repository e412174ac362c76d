"""Seeded draws of rows or groups with replacement, as weights, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Groups = NDArray[np.intp]

DRAWS = 10_000
"""Most draws."""
_BUDGET = 20_000_000
_FEWEST = 1_000
_CHUNK = 1_000_000  # small enough for the caches


def draws_for(units: int) -> int:
    """Draws for a number of units: 10,000 up to 2,000 units, then fewer, at least 1,000.

    With many units the ends of an interval are steadier, so fewer draws give the same digits: at
    10,000 units the noise of an end is 3 % of the interval's half width.
    """
    return int(min(DRAWS, max(_FEWEST, _BUDGET // max(units, 1))))


@dataclass(frozen=True, slots=True)
class Units:
    """What is drawn: rows, or groups of rows.

    Attributes:
        sums: shape (units, k): values summed within each unit.
        counts: shape (units, 1): how many rows went into each sum.
    """

    sums: Floats
    counts: Floats


def gather(matrix: Floats, groups: Groups | None) -> Units:
    """Rows, or their sums by group."""
    counts = np.ones((len(matrix), 1))
    if groups is None:
        return Units(matrix, counts)
    codes = np.unique(groups, return_inverse=True)[1]
    return Units(group_sums(matrix, codes), group_sums(counts, codes))


def group_sums(matrix: Floats, codes: Groups) -> Floats:
    """Rows added up by group; `codes` count from 0."""
    found = np.zeros((int(codes.max()) + 1 if len(codes) else 0, matrix.shape[1]))
    np.add.at(found, codes, matrix)
    return found


def weights(units: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each unit is drawn: chunks of shape (some draws, units), `draws` rows in all.

    Each row adds up to `units`. Whole numbers from a counter-based generator: the same seed gives
    the same draws everywhere, so that all metrics and models of a run share them.
    """
    generator = np.random.Generator(np.random.Philox(key=seed))
    step = max(1, min(draws, _CHUNK // max(units, 1)))
    for start in range(0, draws, step):
        size = min(step, draws - start)
        picked = generator.integers(0, units, size=(size, units), dtype=np.int64)
        picked += np.arange(size, dtype=np.int64)[:, None] * units
        counted = np.bincount(picked.ravel(), minlength=size * units)
        yield counted.reshape(size, units).astype(np.float64)
