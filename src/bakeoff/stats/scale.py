"""How far a metric's values can lie: where intervals end, and what rows that are all alike say."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, log

import numpy as np
from numpy.typing import NDArray

from bakeoff.stats.normal import LEVEL

Bounds = tuple[float, float]

RULE_OF_THREE = "rule of three"
_GRAIN = 1e-6  # of the scale: what two ways of computing a metric may differ by
_OPEN_GRAIN = 1e-9  # of the values themselves, where there is no scale


@dataclass(frozen=True, slots=True)
class Scale:
    """The values that a metric can take.

    Attributes:
        full: value of a full score, where 0 is the least; None for open scales.
        beyond: whether values may pass `full`, as error rates do.
        graded: whether values may lie between 0 and `full`; else rows that are all 0 or full are
            taken for wrong and right ones.
    """

    full: float | None = 1.0
    beyond: bool = False
    graded: bool = False

    @property
    def bounds(self) -> Bounds:
        """Least and greatest value; infinite where there is none."""
        if self.full is None:
            return -inf, inf
        return 0.0, inf if self.beyond else self.full

    @property
    def gaps(self) -> Bounds:
        """Least and greatest difference of two values."""
        if self.full is None or self.beyond:
            return -inf, inf
        return -self.full, self.full

    def binary(self, values: NDArray[np.float64]) -> bool:
        """Whether all values are 0 or a full score: right or wrong."""
        if self.full is None or self.graded:
            return False
        return bool(np.isin(values, (0.0, self.full)).all())

    def alike(self, values: NDArray[np.float64]) -> bool:
        """Whether values differ by rounding alone: by no more than 1e-6 of the scale."""
        grain = _OPEN_GRAIN * float(np.abs(values).max()) if self.full is None else None
        return bool(np.ptp(values) <= (_GRAIN * (self.full or 0.0) if grain is None else grain))


SHARE = Scale()
"""From 0 to 1."""
OPEN = Scale(None)


def limits(bounds: Bounds, values: NDArray[np.float64]) -> Bounds:
    """The bounds that values keep to; infinite where one lies outside, so that they do not hold."""
    low, high = bounds
    return (
        low if float(values.min()) >= low else -inf,
        high if float(values.max()) <= high else inf,
    )


def rule_of_three(value: float, units: int, bounds: Bounds) -> Bounds | None:
    """95 % interval of a mean of which all units seen have the same value.

    At most a share of 1 - 0.05^(1/units), about 3/units, of all units has another value (Hanley and
    Lippman-Hand 1983, JAMA 249, 1743), and that lies within the bounds. None where these are open.
    """
    low, high = bounds
    if not (isfinite(low) and isfinite(high) and low <= value <= high):
        return None
    others = 1.0 - LEVEL ** (1.0 / units)
    return value - others * (value - low), value + others * (high - value)


def units_for(gap: float, value: float, bounds: Bounds) -> float:
    """Units, all alike, for which the rule of three reaches no further than `gap` from `value`."""
    reach = max(value - bounds[0], bounds[1] - value)
    if gap <= 0 or not isfinite(reach):
        return inf
    return 1.0 if gap >= reach else log(LEVEL) / log(1.0 - gap / reach)
