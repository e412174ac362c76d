"""BART and mBART: a learned table whose first two lines are not used.

Checked on transformers 5.24.
"""

from __future__ import annotations

from typing import Any

from bakeoff.engines.families.hooked import HookedPositions

FAMILIES = frozenset({"bart", "mbart"})


def positions(model: Any) -> HookedPositions:
    """Looks each row's position up."""
    table = model.get_decoder().embed_positions
    return HookedPositions(table, lambda at, _: table.weight[at + table.offset])
