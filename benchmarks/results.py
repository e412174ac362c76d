"""`Result`: one measured figure against what was promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Result:
    """One figure.

    Attributes:
        name: what was measured.
        value: the figure.
        unit: `x` for ratios, `s`, `MB`, `%`.
        limit: what was promised, or None for figures that only inform.
        kind: whether the value must be at least or at most the limit.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    kind: Literal["at least", "at most"] = "at least"

    @property
    def kept(self) -> bool:
        """Whether the promise holds."""
        if self.limit is None:
            return True
        return self.value >= self.limit if self.kind == "at least" else self.value <= self.limit
