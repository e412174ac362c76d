"""Where a model goes and in which precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.engines.checks import bytes_of, check_quantised_device
from bakeoff.engines.footprint import Room
from bakeoff.engines.machine import available_memory

_SHARE = 0.9
"""Of the memory that is free, for weights; the rest is for what is computed with them."""


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
        UnsupportedOption: the accelerator, or a device of `max_memory`, is not there, or weights
            cannot be quantised on it; what there is is named.
    """
    device = _device(ref)
    check_quantised_device(ref, device)
    arguments: dict[str, Any] = {"dtype": _dtype(ref, device)}
    spread = ref.device_map != "none"
    if spread:
        arguments["device_map"] = ref.device_map
        arguments["max_memory"] = _max_memory(ref.max_memory) if ref.max_memory else _free()
    return Placement(device, spread, arguments)


def available() -> tuple[str, ...]:
    """Accelerators of this machine, best first; `cpu` is always the last."""
    found = []
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return (*found, "cpu")


def room(placement: Placement) -> Room:
    """What the devices of a placement have to give."""
    host, kind = available_memory(), placement.device.partition(":")[0]
    if placement.spread:
        given = placement.arguments["max_memory"] or {"cpu": host}
        free = sum(size for place, size in given.items() if place != "disk")
        return Room(kind, free, host, spread=True)
    if kind == "cuda":
        return Room(kind, int(torch.cuda.mem_get_info(placement.device)[0]), host)
    return Room(kind, host, host)


def input_device(model: Any, placement: Placement) -> str:
    """Where a model's input goes: never to the disk, whatever lies there."""
    if not placement.spread:
        return placement.device
    places = list((getattr(model, "hf_device_map", None) or {}).values())
    first = next((one for one in places if one not in ("cpu", "disk")), "cpu")
    return f"cuda:{first}" if isinstance(first, int) else str(first)


def spread_over(model: Any) -> dict[str, int]:
    """Place -> bytes of a model that is spread; what computes first, the disk last."""
    found: dict[str, int] = {}
    places = getattr(model, "hf_device_map", None) or {}
    for name, weight in model.named_parameters():
        holders = (part for part in places if not part or f"{name}.".startswith(f"{part}."))
        place = str(places.get(max(holders, key=len, default=""), "cpu"))
        found[place] = found.get(place, 0) + weight.nbytes
    ordered = sorted(found, key=lambda place: (place == "disk", place == "cpu", place))
    return {f"cuda:{p}" if p.isdigit() else p: found[p] for p in ordered}


def _max_memory(said: dict[str, str]) -> dict[int | str, int]:
    there = {"cpu", "disk", *map(str, range(torch.cuda.device_count()))}
    if torch.backends.mps.is_available():
        there.add("mps")
    for name in said:
        if name not in there:
            raise UnsupportedOption(
                f"max_memory names the device {name!r}, but this machine has "
                f"{', '.join(sorted(there))}",
                option="max_memory",
            )
    return {int(k) if k.isdigit() else k: bytes_of(v) or 0 for k, v in said.items()}


def _free() -> dict[int | str, int] | None:
    """The library's own look at a machine overlooks the limit of a control group."""
    if torch.backends.mps.is_available():
        return None
    free: dict[int | str, int] = {
        number: int(torch.cuda.mem_get_info(number)[0] * _SHARE)
        for number in range(torch.cuda.device_count())
    }
    return {**free, "cpu": int(available_memory() * _SHARE)}


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
