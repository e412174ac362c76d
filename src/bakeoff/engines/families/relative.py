"""T5 and mT5: biases by distance, which padding on the left leaves as they are.

Checked on transformers 5.24.
"""

from __future__ import annotations

from typing import Any

FAMILIES = frozenset({"t5", "mt5"})


class NoPositions:
    """Nothing has to be given."""

    def set(self, positions: Any) -> None:
        """See `Positions.set`."""


def positions(model: Any) -> NoPositions:
    """The same for every model."""
    return NoPositions()
