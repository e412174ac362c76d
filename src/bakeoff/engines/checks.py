"""Load options that cannot be honoured are refused by name before anything is loaded."""

from __future__ import annotations

import importlib.util
import re

from bakeoff.core.errors import DependencyMissing, UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.engines.route import check_engine

_SIZE = re.compile(r"^\d+(\.\d+)?\s*([KMGT]i?B|B)$", re.IGNORECASE)
_MEMORY_KEY = re.compile(r"^(cpu|mps|disk|\d+)$")


def check_options(ref: ModelRef) -> None:
    """Check every option of a Hub or local model that needs no device to be looked at.

    Raises:
        UnsupportedOption: an option, or two together, that cannot be honoured.
        DependencyMissing: an optional part is not installed.
    """
    check_engine(ref.engine)
    _check_extras(ref)
    _check_placement(ref)
    if ref.compute_type is not None:
        raise UnsupportedOption(
            f"compute_type is {ref.compute_type!r}, but it belongs to the ctranslate2 engine: "
            "for transformers write `torch_dtype`",
            option="compute_type",
        )
    if ref.served_model is not None:
        raise UnsupportedOption(
            f"served_model is {ref.served_model!r}, but {ref.uri} is not served: write it "
            "beside `endpoint:` only",
            option="served_model",
        )
    if ref.scheme == "file" and ref.revision is not None:
        raise UnsupportedOption(
            f"revision is {ref.revision!r}, but {ref.name} is local and has none: drop it, or "
            "name hf://org/name",
            option="revision",
        )
    if ref.gguf_file is not None and not ref.gguf_file.endswith(".gguf"):
        raise UnsupportedOption(
            f"gguf_file is {ref.gguf_file!r}: name a file that ends with .gguf", option="gguf_file"
        )


def _check_extras(ref: ModelRef) -> None:
    for option in ("load_in_4bit", "load_in_8bit"):
        if getattr(ref, option) and not _installed("bitsandbytes"):
            raise DependencyMissing(f"`{option}` (bitsandbytes)", "quant")
    if ref.adapter and not _installed("peft"):
        raise DependencyMissing(f"`adapter: {ref.adapter}` (peft)", "adapters")
    quantised = ref.load_in_4bit or ref.load_in_8bit
    if quantised and (ref.gguf_file or ref.name.endswith(".gguf")):
        raise UnsupportedOption(
            f"{ref.name}: a GGUF file is quantised already; drop load_in_4bit and load_in_8bit",
            option="load_in_4bit" if ref.load_in_4bit else "load_in_8bit",
        )


def _check_placement(ref: ModelRef) -> None:
    if ref.device_map != "none" and ref.accelerator != "auto":
        raise UnsupportedOption(
            f"device_map {ref.device_map!r} and accelerator {ref.accelerator!r} both place the "
            "model: keep one of them",
            option="device_map",
        )
    if ref.max_memory is None:
        return
    if ref.device_map == "none":
        raise UnsupportedOption(
            "max_memory needs `device_map: auto`, balanced or sequential", option="max_memory"
        )
    for device, size in ref.max_memory.items():
        if not _MEMORY_KEY.match(device) or not _SIZE.match(size):
            raise UnsupportedOption(
                f"max_memory has {device!r}: {size!r}; write for example {{cpu: 8GiB, '0': 20GiB}}",
                option="max_memory",
            )


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
