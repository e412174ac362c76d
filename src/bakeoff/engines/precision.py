"""Precision of the weights as far as it is known before torch is imported."""

from __future__ import annotations

import importlib.metadata
import sys

from bakeoff.core.modelref import ModelRef, TorchDtype


def resolved_dtype(ref: ModelRef) -> TorchDtype:
    """What `torch_dtype: auto` comes to: float32 where the model is bound to run on a CPU.

    It stays `auto` where an accelerator may be found once torch is loaded; the checkpoint's own
    precision is taken then.
    """
    if ref.torch_dtype != "auto":
        return ref.torch_dtype
    bound = ref.accelerator == "cpu" or (ref.accelerator == "auto" and _cpu_build())
    return "float32" if bound else "auto"


def _cpu_build() -> bool:
    """Whether the installed torch is a build for CPUs alone; one for macOS never says so."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return False
    return version.endswith("+cpu") and sys.platform != "darwin"
