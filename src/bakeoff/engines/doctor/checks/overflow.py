"""Whether ordinary text takes the model's inner values beyond what it can hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import Any

import torch

from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain
from bakeoff.engines.doctor.probes import PROSE

WHAT = "inner values"
_LIMIT = 65_504.0
"""The largest number of float16."""
_ADVICE = (
    "run it with torch_dtype: bfloat16 or float32; on a CPU bakeoff does so by itself, on an "
    "accelerator it takes the checkpoint's own precision"
)
_BROKEN = "the checkpoint, or this precision of it, cannot be used"


def check(plain: Plain) -> Iterator[Finding]:
    """One line."""
    ids = plain.ids(PROSE)[:64]
    with _largest(plain.model) as seen:
        logits = plain.logits(ids)
    if not bool(torch.isfinite(logits).all()):
        value = f"the output for ordinary text is infinite or NaN in {plain.dtype}"
        yield Finding("logits-not-finite", "problem", WHAT, value, _BROKEN)
        return
    largest = max(seen, default=0.0)
    data = {"largest": largest}
    if largest > _LIMIT:
        value = f"up to {largest:,.0f}, and float16 holds {_LIMIT:,.0f}"
        if _is_half(plain):
            yield Finding("overflows-float16", "warning", WHAT, value, _ADVICE, data)
        else:
            yield Finding("overflow", "ok", WHAT, value, data=data)
    else:
        yield Finding("overflow", "ok", WHAT, f"up to {largest:,.0f} for ordinary text", data=data)


def _is_half(plain: Plain) -> bool:
    """Whether the checkpoint is kept in float16, in which others will run it."""
    tensors = (plain.chart.tensors or {}).values()
    return plain.dtype == "float16" or any(tensor.dtype == "F16" for tensor in tensors)


@contextmanager
def _largest(model: Any) -> Iterator[list[float]]:
    """Collects the largest value that each layer gives out."""
    seen: list[float] = []

    def note(module: Any, inputs: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor) and output.is_floating_point() and output.numel():
            largest = float(output.detach().abs().max())
            if isfinite(largest):  # masks are infinite and mean it
                seen.append(largest)

    leaves = [module for module in model.modules() if not list(module.children())]
    hooks = [module.register_forward_hook(note) for module in leaves]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
