"""How the page writes numbers."""

from __future__ import annotations


def score(value: float | None, scale: float | None) -> str:
    """A score: three decimals for 0 to 1, one for 0 to 100, else four significant digits."""
    if value is None:
        return "–"
    if scale == 1.0:
        text = f"{value:.3f}"
    elif scale == 100.0:
        text = f"{value:.1f}"
    else:
        text = significant(value)
    return text.replace("-", "−")


def significant(value: float) -> str:
    """Four significant digits, without an exponent where that is readable."""
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def probability(value: float) -> str:
    """A p-value: three decimals, or that it is smaller than they can say."""
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def seconds(value: float | None) -> str:
    """A duration with its unit."""
    if value is None:
        return "–"
    if 0 < value < 0.001:
        return f"{value * 1e6:.0f} µs"
    if 0 < value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value:,.0f} s"


def count(value: int | None) -> str:
    """A whole number with thousands separated."""
    return "–" if value is None else f"{value:,}"


def plural(value: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"
