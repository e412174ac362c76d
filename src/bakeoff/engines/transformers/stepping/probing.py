"""Whether a decoder-only model of an unknown family keeps rows of different lengths apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from bakeoff.engines.steps.prefixes import Prefixes
from bakeoff.engines.transformers.stepping.causal import Calls, CausalSteps
from bakeoff.engines.transformers.stepping.columns import Columns

_LENGTHS = (9, 4, 6)
_STEPS = 2
_EXACT, _ROUGH = 1e-3, 5e-2
"""How far logits may lie apart, in their own standard deviations: full and half precision."""


def keeps_rows_apart(model: Any, device: str, pad: int) -> bool:
    """Whether rows give the same logits in company as alone, read at once and step by step.

    A model without `position_ids` takes one position for all rows, and needs no trial.
    """
    if not Calls.of(model).positions:
        return False
    size = int(model.get_input_embeddings().weight.shape[0])
    rows = [[(7 + 31 * at + 13 * line) % size for at in range(length + _STEPS)]
            for line, length in enumerate(_LENGTHS)]  # fmt: skip
    try:
        together = _logits(CausalSteps(model, device, pad, Prefixes(0, len)), rows, device)
        alone = [
            _logits(CausalSteps(model, device, pad, Prefixes(0, len)), [row], device)[:, 0]
            for row in rows
        ]
    except Exception:  # a model that cannot be driven so raises what it likes
        return False
    wanted = torch.stack(alone, dim=1)
    allowed = _EXACT if model.dtype is torch.float32 else _ROUGH
    return bool((together - wanted).abs().max() <= allowed * wanted.std())


def _logits(steps: CausalSteps, rows: Sequence[Sequence[int]], device: str) -> Any:
    """Logits behind the first tokens of each row and behind each of its last ones."""
    columns = Columns(device)
    columns.open(len(rows))
    first = [len(row) - _STEPS for row in rows]
    most = max(first)
    with torch.inference_mode():
        ids = [
            [0] * (most - count) + list(row[:count]) for row, count in zip(rows, first, strict=True)
        ]
        found = [steps.forward(columns, ids, first)]
        for at in range(_STEPS):
            newest = [[row[count + at]] for row, count in zip(rows, first, strict=True)]
            found.append(steps.forward(columns, newest, [1] * len(rows)))
    return torch.stack(found)
