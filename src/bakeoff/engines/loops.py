"""`looped`: whether a text fell into a loop, seen in its tokens."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_UNIT = 8
"""Most tokens of the piece that repeats."""
REPEATS = 20
"""How often a piece must stand in a row."""


def looped(token_ids: Sequence[int]) -> bool:
    """Whether the same 1 to 8 tokens stand at least 20 times in a row, anywhere."""
    return any(_repeats(token_ids, unit) for unit in range(1, LONGEST_UNIT + 1))


def _repeats(ids: Sequence[int], unit: int) -> bool:
    needed = unit * (REPEATS - 1)
    run = 0
    for earlier, later in zip(ids, ids[unit:], strict=False):
        run = run + 1 if earlier == later else 0
        if run >= needed:
            return True
    return False
