"""p values from exchanging the two models' labels at random, row by row or group by group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bakeoff.stats.bootstrap import Combine
from bakeoff.stats.normal import t_p
from bakeoff.stats.resampling import Floats, draws_for

EXACT = 16
"""Up to this many differences that are not 0, all sign patterns are tried."""
LARGE = 1_000
"""Above this many, Student's t gives the same p to the digits shown."""
_CHUNK = 4_000_000
_SLACK = 1e-12


def sign_flip(differences: Floats, seed: int) -> tuple[float, str]:
    """Two-sided p value of a mean difference of 0, and how it was found.

    Under the null hypothesis each difference is as likely to have the other sign. Exact for up to
    16 differences that are not 0, else 1,000 to 10,000 random patterns, the observed one counted
    among them.
    """
    moving = differences[differences != 0.0]
    n = len(moving)
    if n == 0:
        return 1.0, "no difference in any row"
    observed = abs(moving.sum()) * (1 - _SLACK)
    if n <= EXACT:
        patterns = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        sums = np.abs((2 * patterns - 1) @ moving)
        return float(np.mean(sums >= observed)), "exact sign-flip test"
    if n > LARGE:
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        return t_p(float(differences.mean() / error), len(differences) - 1), "t test"
    draws, hits = draws_for(n), 0
    for coins in _coins(n, draws, seed):
        hits += int(np.sum(np.abs((2 * coins - 1) @ moving) >= observed))
    return (hits + 1) / (draws + 1), f"sign-flip test, {draws:,} draws"


def swapped(a: Floats, b: Floats, combine: Combine, seed: int) -> tuple[float, str]:
    """Two-sided p value of no difference of a corpus metric: approximate randomisation.

    Each unit's statistics change sides with probability one half.

    Args:
        a: shape (units, k), sufficient statistics of one model.
        b: of the other.
        combine: the formula of both.
        seed: of the draws.
    """
    total_a, total_b, change = a.sum(axis=0), b.sum(axis=0), b - a
    observed = abs(float(combine(total_a)) - float(combine(total_b))) * (1 - _SLACK)
    draws, hits = draws_for(len(a)), 0
    for coins in _coins(len(a), draws, seed):
        moved = coins @ change
        gaps = np.abs(combine(total_a + moved) - combine(total_b - moved))
        hits += int(np.sum(gaps >= observed))
    return (hits + 1) / (draws + 1), f"approximate randomisation, {draws:,} draws"


def _coins(n: int, draws: int, seed: int) -> Iterator[Floats]:
    """Chunks of shape (some draws, n) of zeros and ones; the same on every machine."""
    generator = np.random.Generator(np.random.Philox(key=seed))
    step = max(1, min(draws, _CHUNK // n))
    for start in range(0, draws, step):
        size = min(step, draws - start)
        yield generator.integers(0, 2, size=(size, n), dtype=np.int8).astype(np.float64)
