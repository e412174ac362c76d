"""Weights that no file holds, for a model that lies in part on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def fill_gaps(model: Any) -> None:
    """Give the weights that the library computes itself to those that would be read from disk.

    Sinusoidal positions (Marian, Pegasus, ...) stand in no file: the library's reader would look
    for them there on every pass and fail. They are small, and kept in memory.
    """
    for name, module in model.named_modules():
        for weights in _read_from_disk(module):
            for key, weight in list(module.named_parameters(recurse=False)):
                full = f"{name}.{key}" if name else key
                known = full in weights.state_dict or full in weights.index
                if weight.device.type == "meta" and not known:
                    weights.state_dict[full] = _computed(model, module, key)


def _read_from_disk(module: Any) -> Iterator[Any]:
    """The reader of a module's weights (checked with accelerate 1.15), if it has one."""
    hook = getattr(module, "_hf_hook", None)
    for one in getattr(hook, "hooks", (hook,)):
        reader = getattr(getattr(one, "weights_map", None), "dataset", None)
        if reader is not None and hasattr(reader, "index"):
            yield reader


def _computed(model: Any, module: Any, key: str) -> torch.Tensor:
    """A weight as the library makes it for a model that was not loaded from files."""
    absent = getattr(module, key)
    weight = torch.nn.Parameter(torch.empty_like(absent, device="cpu"), requires_grad=False)
    setattr(module, key, weight)
    try:
        with torch.no_grad():
            model._init_weights(module)
    finally:
        setattr(module, key, absent)
    return weight.detach()
