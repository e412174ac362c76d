"""M2M100 and NLLB: a fixed table whose positions begin behind the padding token's id.

A padding token that the model itself wrote has no position. Checked on transformers 5.24.
"""

from __future__ import annotations

from typing import Any

import torch

from bakeoff.engines.families.hooked import HookedPositions

FAMILIES = frozenset({"m2m_100"})


def positions(model: Any) -> HookedPositions:
    """Looks each row's position up."""
    table = model.get_decoder().embed_positions
    pad = table.padding_idx

    def look_up(at: Any, ids: Any) -> Any:
        at = at + pad + 1
        if ids is not None:
            at = torch.where(ids == pad, pad, at)
        return table.weights[at]

    return HookedPositions(table, look_up)
