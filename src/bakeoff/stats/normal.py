"""The normal distribution and Student's t, as far as 95 % intervals need them."""

from __future__ import annotations

from statistics import NormalDist

NORMAL = NormalDist()
LEVEL = 0.05
"""Significance level of every test and interval."""
Z = NORMAL.inv_cdf(1 - LEVEL / 2)
POWER_Z = Z + NORMAL.inv_cdf(0.8)
"""Standard errors between 0 and a difference that is found in 80 of 100 runs: 2.80."""


def t_quantile(freedom: float) -> float:
    """Two-sided 95 % point of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1 - LEVEL / 2))


def t_p(t: float, freedom: float) -> float:
    """Two-sided p value of Student's t."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(t)))


def rounded(value: float) -> float:
    """To 12 significant digits: sums in another order on another machine give the same report."""
    return float(f"{float(value):.12g}")
