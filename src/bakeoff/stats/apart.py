"""When two models are told apart, and how much data that takes."""

from __future__ import annotations

from typing import Protocol

from bakeoff.stats.normal import LEVEL

FEWEST = 10
"""Below this many independent rows (or groups) nothing is decided; docs/metrics.md says why."""


class Compared(Protocol):
    """What a pair of models has to say of itself; see `report.Pair`."""

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % interval of the difference."""

    @property
    def high(self) -> float | None:
        """Upper end."""

    @property
    def p(self) -> float | None:
        """Two-sided p value of no difference."""

    @property
    def p_adjusted(self) -> float | None:
        """The same, adjusted for all pairs that were asked together."""

    @property
    def n_effective(self) -> float | None:
        """Independent rows that it rests on; None where nothing was left to chance."""


def enough(pair: Compared) -> bool:
    """Whether the pair rests on enough rows to decide anything."""
    return pair.n_effective is None or pair.n_effective >= FEWEST


def told_apart(pair: Compared) -> bool:
    """Whether two models differ beyond chance.

    There must be at least 10 independent rows, the 95 % interval must exclude 0 and the p value,
    adjusted where it was, must be below 0.05. Without an interval they are not told apart; without
    a p value the interval alone decides.
    """
    if pair.low is None or pair.high is None or pair.low <= 0 <= pair.high:
        return False
    p = pair.p if pair.p_adjusted is None else pair.p_adjusted
    return enough(pair) and (p is None or p < LEVEL)


def settled(pair: Compared, margin: float) -> bool:
    """Whether more rows are not needed: told apart, or surely closer than the margin."""
    if pair.low is None or pair.high is None:
        return False
    return told_apart(pair) or (enough(pair) and -margin < pair.low and pair.high < margin)
