"""Two models, right or wrong on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from bakeoff.stats.bootstrap import wilson

FEWEST_DIFFERING = 6
"""With fewer rows on which just one model is right, McNemar's exact p cannot fall below 0.05."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows by who is right.

    Attributes:
        both, only_a, only_b, neither: numbers of rows.
    """

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        """All rows."""
        return self.both + self.only_a + self.only_b + self.neither


def mcnemar(only_a: int, only_b: int, *, mid: bool = False) -> float:
    """Two-sided exact p value that each differing row is as likely to favour either model.

    With `mid`, half of the probability of the observed split is left out (mid-p: less
    conservative, no longer a guarantee).
    """
    n, few = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return 1.0
    # Whole numbers throughout: exact, and quick because each coefficient follows from the last.
    coefficient = below = 1
    for k in range(few):
        coefficient = coefficient * (n - k) // (k + 1)
        below += coefficient
    if mid:
        # The observed split, once on each side; in the middle the two coincide.
        return min(1.0, float(Fraction(2 * below - coefficient, 1 << n)))
    return min(1.0, float(Fraction(2 * below, 1 << n)))


def newcombe(table: Table) -> tuple[float, float]:
    """95 % interval for the difference of two paired shares, a minus b.

    Newcombe (1998), Statistics in Medicine 17, 2635, method 10: Wilson's limits of both shares,
    joined by their correlation with continuity correction.
    """
    n = table.n
    share_a = (table.both + table.only_a) / n
    share_b = (table.both + table.only_b) / n
    low_a, high_a = wilson(share_a * n, n)
    low_b, high_b = wilson(share_b * n, n)
    phi = _correlation(table)

    def reach(left: float, right: float) -> float:
        return sqrt(max(0.0, left * left - 2 * phi * left * right + right * right))

    difference = share_a - share_b
    low = difference - reach(share_a - low_a, high_b - share_b)
    high = difference + reach(high_a - share_a, share_b - low_b)
    return max(-1.0, low), min(1.0, high)


def _correlation(table: Table) -> float:
    right_a, right_b = table.both + table.only_a, table.both + table.only_b
    wrong_a, wrong_b = table.n - right_a, table.n - right_b
    scale = right_a * wrong_a * right_b * wrong_b
    if scale == 0:
        return 0.0
    product = float(table.both * table.neither - table.only_a * table.only_b)
    if product > 0:
        product = max(product - table.n / 2, 0.0)
    return product / sqrt(scale)
