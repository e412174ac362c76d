"""How many rows a difference needs (5 % level, found in 80 of 100 runs)."""

from __future__ import annotations

from math import ceil, sqrt

from bakeoff.stats.normal import POWER_Z

MOST = 100_000_000
"""With more rows than this, nobody would settle anything."""


def about(rows: int) -> int:
    """Rows as people are told them: to two digits, upwards; more would be false precision."""
    step = int(10 ** max(0, len(str(rows)) - 2))
    return -(-rows // step) * step


def smallest_difference(differing: float, n: int) -> float:
    """Smallest difference of two shares that n rows can tell.

    Args:
        differing: share of rows on which just one of the models is right.
        n: rows.
    """
    return POWER_Z * sqrt(differing / (n + POWER_Z**2))


def rows_for_share(differing: float, gap: float) -> int:
    """Rows that tell a difference `gap` of two shares; see `smallest_difference`."""
    return max(0, ceil(POWER_Z**2 * differing / gap**2 - POWER_Z**2))


def rows_to_settle(error: float, n: int, gap: float) -> int | None:
    """Further rows, beyond n, until a difference of `gap` can be told; 0 where n suffice.

    None where nothing is known (no standard error, no gap) or more than 100 million are needed.

    Args:
        error: standard error of the difference at n rows; groups are in it already.
        n: rows now.
        gap: the difference that matters, in the metric's own units.
    """
    if not error > 0 or not gap > 0:
        return None
    needed = n * (POWER_Z * error / gap) ** 2
    return None if needed > MOST else max(0, ceil(needed) - n)
