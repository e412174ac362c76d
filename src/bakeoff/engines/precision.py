"""Precision of the weights as far as it is known before torch is imported."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.core.modelref import ModelRef, TorchDtype

_DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl-gpu", "/dev/nvmap", "/dev/kfd")


def resolved_dtype(ref: ModelRef) -> TorchDtype:
    """What `torch_dtype: auto` comes to: float32 where the model is bound to run on a CPU.

    It stays `auto` where an accelerator may be found once torch is loaded; the checkpoint's own
    precision is taken then.
    """
    if ref.torch_dtype != "auto":
        return ref.torch_dtype
    bound = ref.accelerator == "cpu" or (ref.accelerator == "auto" and _cpu_build())
    return "float32" if bound else "auto"


def bound_to_cpu(ref: ModelRef) -> bool:
    """Whether a model is bound to run on a CPU: it is asked for, or no accelerator is here.

    Without torch, so that a machine of a kind not known here counts as having an accelerator.
    """
    return ref.accelerator == "cpu" or (
        ref.accelerator == "auto" and (_cpu_build() or _no_accelerator())
    )


def quantised_with(config: Mapping[str, Any]) -> str | None:
    """How a checkpoint's weights were quantised before they were saved, or None.

    `config` is its `config.json`.
    """
    said = config.get("quantization_config")
    if not isinstance(said, Mapping):
        return None
    return str(said.get("quant_method") or "bitsandbytes")  # older files of bitsandbytes name none


def numerics(ref: ModelRef, config: Mapping[str, Any]) -> str:
    """`exact`, or what computes with quantised weights, and its version.

    Another version may round otherwise, so that it makes other texts.
    """
    method = "bitsandbytes" if ref.quantisation else quantised_with(config)
    if method is None:
        return "exact"
    library = "bitsandbytes" if method.startswith("bitsandbytes") else "transformers"
    version = importlib.metadata.version(library)
    return f"{library} {version}" if library == method else f"{method} by {library} {version}"


def _cpu_build() -> bool:
    """Whether the installed torch is a build for CPUs alone; one for macOS never says so."""
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return False
    return version.endswith("+cpu") and sys.platform != "darwin"


def _no_accelerator() -> bool:
    """Whether this is a Linux without the devices of CUDA (also under WSL and Tegra) or ROCm."""
    return sys.platform == "linux" and not any(Path(name).exists() for name in _DEVICES)
