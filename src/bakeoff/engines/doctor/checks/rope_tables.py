"""Precision of the tables that rotary positions are computed from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain

WHAT = "rotary tables"
CODE = "rope-half-precision"
_HALF = frozenset({"F16", "BF16"})
_TABLE = re.compile(r"inv_freq|rotary\S*\.(cos|sin)_cached|\brope\.freqs")
_STORED = (
    "save the checkpoint anew with a newer transformers, which leaves them out; bakeoff and "
    "transformers 5 ignore them and compute in float32, older tools load them"
)
_LOADED = (
    "do not cast the model after loading (`.half()`), and keep what the checkpoint's own code "
    "computes positions from in float32"
)
_ROUNDED = 1e-5
"""Relative error that float32 does not make and half precision does."""


def check(chart: Chart) -> Iterator[Finding]:
    """A finding where the files hold such tables in half precision."""
    stored = {
        name: tensor.dtype
        for name, tensor in (chart.tensors or {}).items()
        if _TABLE.search(name) and tensor.dtype in _HALF
    }
    if stored:
        name, dtype = next(iter(stored.items()))
        value = f"{len(stored)} in the files in {dtype}, for example {name}"
        yield Finding(CODE, "warning", WHAT, value, _STORED, {"stored": stored})


def check_loaded(plain: Plain) -> Iterator[Finding]:
    """The tables in memory: their type, and whether their numbers went through a shorter one."""
    wrong = dict(_wrong(plain.model))
    if wrong:
        name, why = next(iter(wrong.items()))
        value = f"{name} is {why} as loaded" + (" (and others)" if len(wrong) > 1 else "")
        yield Finding(CODE, "problem", WHAT, value, _LOADED, {"loaded": wrong})
    elif any(True for _ in _tables(plain.model)):
        yield Finding("rope-tables", "ok", WHAT, "float32 as loaded")


def _tables(model: Any) -> Iterator[tuple[str, Any, str]]:
    """Module name, module and buffer name of each table."""
    for name, module in model.named_modules():
        for buffer, _ in module.named_buffers(recurse=False):
            if "inv_freq" in buffer:
                yield name, module, buffer


def _wrong(model: Any) -> Iterator[tuple[str, str]]:
    for name, module, buffer in _tables(model):
        table = getattr(module, buffer)
        full = f"{name}.{buffer}"
        if table.dtype in (torch.float16, torch.bfloat16):
            yield full, str(table.dtype).removeprefix("torch.")
            continue
        fresh = _fresh(module, buffer)
        if fresh is None or fresh.shape != table.shape:
            continue
        error = ((table.cpu() - fresh).abs() / fresh.abs().clamp_min(1e-30)).max()
        if float(error) > _ROUNDED:
            yield full, f"off by up to {float(error):.1e}"


def _fresh(module: Any, buffer: str) -> Any:
    """The same table made anew in float32, or None: this module is made in another way."""
    config = getattr(module, "config", None)
    if config is None:
        return None
    try:
        return getattr(type(module)(config), buffer)
    except (TypeError, AttributeError, KeyError):  # it wants more than its configuration
        return None
