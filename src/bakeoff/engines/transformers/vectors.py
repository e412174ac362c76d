"""From an encoder's output to numbers: label logits, and one vector a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bakeoff.engines.pooling import Pooling


def read_labels(output: Any, mask: torch.Tensor) -> Sequence[NDArray[np.float64]]:
    """One row of logits a text."""
    return list(output.logits.float().cpu().numpy().astype(np.float64))


def read_vectors(
    pooling: Pooling, output: Any, mask: torch.Tensor
) -> Sequence[NDArray[np.float64]]:
    """One vector a text, padding left out (inputs are padded on the right)."""
    states = output.last_hidden_state.float()
    pooled = _pooled(pooling, states, mask)
    if pooling.normalise:
        pooled = torch.nn.functional.normalize(pooled, dim=-1)
    return list(pooled.cpu().numpy().astype(np.float64))


def _pooled(pooling: Pooling, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    if pooling.mode == "cls":
        return states[:, 0]
    if pooling.mode == "lasttoken":
        rows = torch.arange(len(states), device=states.device)
        return states[rows, mask.sum(dim=1) - 1]
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)
