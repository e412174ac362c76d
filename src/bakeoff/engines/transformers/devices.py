"""Where a model goes and in which precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelref import ModelRef


@dataclass(frozen=True)
class Placement:
    """Device, precision and the arguments of `from_pretrained` that bring both about.

    Attributes:
        device: first device.
        spread: whether `device_map` places the parts.
        arguments: for `from_pretrained`.
    """

    device: str
    spread: bool
    arguments: dict[str, Any]


def place(ref: ModelRef) -> Placement:
    """Device and precision of a model.

    Raises:
        UnsupportedOption: the accelerator is not there; what there is is named.
    """
    device = _device(ref)
    arguments: dict[str, Any] = {"dtype": _dtype(ref, device)}
    spread = ref.device_map != "none"
    if spread:
        arguments["device_map"] = ref.device_map
        if ref.max_memory:
            arguments["max_memory"] = {
                int(k) if k.isdigit() else k: v for k, v in ref.max_memory.items()
            }
    return Placement(device, spread, arguments)


def available() -> tuple[str, ...]:
    """Accelerators of this machine, best first; `cpu` is always the last."""
    found = []
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return (*found, "cpu")


def _device(ref: ModelRef) -> str:
    there = available()
    chosen = there[0] if ref.accelerator == "auto" else ref.accelerator
    if chosen not in there:
        raise UnsupportedOption(
            f"accelerator is {ref.accelerator!r}, but this machine has {', '.join(there)}"
            + _why(chosen),
            option="accelerator",
        )
    return "cuda:0" if chosen == "cuda" else chosen


def _why(accelerator: str) -> str:
    if accelerator == "cuda" and torch.version.cuda is None:
        return f" (torch {torch.__version__} is a build without CUDA)"
    return ""


def _dtype(ref: ModelRef, device: str) -> Any:
    if ref.torch_dtype != "auto":
        return getattr(torch, ref.torch_dtype)
    return torch.float32 if device == "cpu" else "auto"
