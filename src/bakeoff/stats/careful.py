"""95 % intervals of few or skewed values: BCa bootstrap or Student's t, whichever is wider."""

from __future__ import annotations

import numpy as np

from bakeoff.stats.normal import NORMAL, t_quantile
from bakeoff.stats.resampling import Floats, draws_for, weights

FEW = 100
"""Below this many units an interval is bias-corrected (BCa) and widened to Student's t."""
LEVELS = (0.025, 0.975)


def careful_words(kind: str, draws: int) -> str:
    """The method's name, over `rows` or `groups`."""
    what = f"bias-corrected (BCa) bootstrap over {kind}, {draws:,} draws"
    return f"{what}, or Student's t where it reaches further"


def careful_ends(value: float, drawn: Floats, left_out: Floats) -> tuple[float, float]:
    """The outer ends of BCa and Student's t.

    Neither is kept within the draws: a handful of rows spans far less than others like them would,
    and an interval that ends there holds the truth too rarely.

    Args:
        value: the statistic.
        drawn: its bootstrap draws.
        left_out: the statistic without each unit in turn (jackknife).
    """
    size = len(left_out)
    low, high = np.quantile(drawn, bca_levels(value, drawn, left_out))
    error = np.sqrt((size - 1) / size * np.sum((left_out - left_out.mean()) ** 2))
    half = t_quantile(size - 1) * float(error)
    return min(float(low), value - half), max(float(high), value + half)


def careful_mean(values: Floats, seed: int) -> tuple[float, float, str]:
    """Ends for the mean of at least two values, and the method in words."""
    size, number = len(values), draws_for(len(values))
    drawn = np.concatenate([w @ values for w in weights(size, number, seed)]) / size
    left_out = (values.sum() - values) / (size - 1)
    low, high = careful_ends(float(values.mean()), drawn, left_out)
    return low, high, careful_words("rows", number)


def bca_levels(value: float, drawn: Floats, left_out: Floats) -> tuple[float, float]:
    """Quantiles of the draws that a BCa interval takes instead of 2.5 % and 97.5 %.

    Arguments as in `careful_ends`.
    """
    below = (np.sum(drawn < value) + np.sum(drawn <= value)) / (2 * len(drawn))
    if not 0.0 < below < 1.0:
        return LEVELS
    bias = NORMAL.inv_cdf(float(below))
    centred = left_out.mean() - left_out
    spread = float(np.sum(centred**2)) ** 1.5
    acceleration = float(np.sum(centred**3)) / (6.0 * spread) if spread > 0 else 0.0
    ends = []
    for level in LEVELS:
        shifted = bias + NORMAL.inv_cdf(level)
        slope = 1.0 - acceleration * shifted
        ends.append(NORMAL.cdf(bias + shifted / slope) if slope > 0 else level)
    return min(ends), max(ends)
