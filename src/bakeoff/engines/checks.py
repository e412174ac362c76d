"""Load options that cannot be honoured are refused by name before anything is loaded."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from typing import Any

from bakeoff.core.errors import DependencyMissing, UnsupportedOption
from bakeoff.core.modelref import ModelRef
from bakeoff.engines.precision import quantised_with, resolved_dtype
from bakeoff.engines.route import check_engine

_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*(?:([KMGT])(i?))?B$", re.IGNORECASE)
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
    _check_compute_type(ref)
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


def bytes_of(size: str) -> int | None:
    """Bytes of a size such as `8GiB` or `500 MB`, or None where it is none."""
    match = _SIZE.match(size.strip())
    if match is None:
        return None
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** (" KMGT".index((match[2] or " ").upper())))


def check_quantised_device(ref: ModelRef, device: str) -> None:
    """Whether weights can be quantised where they go.

    Raises:
        UnsupportedOption: they cannot; the message says what to write instead.
    """
    if ref.quantisation and device == "mps":
        option = _quantising(ref)
        raise UnsupportedOption(
            f"{option} runs on cuda and cpu, not on mps: write `accelerator: cpu`, or drop "
            f"{option} and take `torch_dtype: bfloat16`",
            option=option,
        )


def check_not_quantised_twice(ref: ModelRef, config: Mapping[str, Any]) -> None:
    """Whether a checkpoint can be quantised, and whether what it is quantised with is there.

    Args:
        ref: the model.
        config: its `config.json`.

    Raises:
        UnsupportedOption: it is quantised already.
        DependencyMissing: it is quantised with bitsandbytes, which is not installed.
    """
    method = quantised_with(config)
    if method is None:
        return
    if ref.quantisation:
        option = _quantising(ref)
        raise UnsupportedOption(
            f"{ref.uri} is quantised already ({method}): drop {option}", option=option
        )
    if method.startswith("bitsandbytes") and not _installed("bitsandbytes"):
        raise DependencyMissing(f"{ref.uri}, which is quantised with bitsandbytes,", "quant")


def _quantising(ref: ModelRef) -> str:
    return "load_in_4bit" if ref.load_in_4bit else "load_in_8bit"


def _check_extras(ref: ModelRef) -> None:
    if ref.engine == "openvino" and not _installed("openvino_genai"):
        raise DependencyMissing("`engine: openvino`", "openvino")
    if ref.engine not in ("auto", "transformers") or ref.compute_type is not None:
        return  # no part to install helps: the engine that is named refuses them itself
    if ref.adapters and not _installed("peft"):
        raise DependencyMissing(f"`adapter: {', '.join(ref.adapters)}` (peft)", "adapters")
    if not ref.quantisation:
        return
    option = _quantising(ref)
    if not _installed("bitsandbytes"):
        raise DependencyMissing(f"`{option}` (bitsandbytes)", "quant")
    if ref.gguf_file or ref.name.endswith(".gguf"):
        raise UnsupportedOption(
            f"{ref.name}: a GGUF file is quantised already; drop {option}", option=option
        )
    taken = resolved_dtype(ref.model_copy(update={"torch_dtype": "auto"}))
    if ref.torch_dtype not in ("auto", taken):
        raise UnsupportedOption(
            f"torch_dtype {ref.torch_dtype!r} and {option} both say how weights are kept: keep one "
            "of them (what is not quantised is float32 on a CPU, and of the checkpoint's own "
            "precision on an accelerator)",
            option="torch_dtype",
        )
    check_quantised_device(ref, ref.accelerator)


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
    if not ref.max_memory:
        raise UnsupportedOption(
            "max_memory is empty: write for example {cpu: 8GiB, '0': 20GiB}, or leave it out",
            option="max_memory",
        )
    for device, size in ref.max_memory.items():
        if not _MEMORY_KEY.match(device) or bytes_of(size) is None:
            raise UnsupportedOption(
                f"max_memory has {device!r}: {size!r}; write for example {{cpu: 8GiB, '0': 20GiB}}",
                option="max_memory",
            )


def _check_compute_type(ref: ModelRef) -> None:
    if ref.compute_type is None:
        return
    if ref.engine not in ("auto", "ctranslate2"):
        raise UnsupportedOption(
            f"compute_type is {ref.compute_type!r}, but it belongs to the ctranslate2 engine: "
            f"for {ref.engine} write `torch_dtype`",
            option="compute_type",
        )
    # loaded for this option alone: what the processor can do, only the library knows
    able = importlib.import_module("ctranslate2").get_supported_compute_types("cpu")
    if ref.compute_type not in able:
        raise UnsupportedOption(
            f"compute_type is {ref.compute_type!r}, and this machine's processor has "
            f"{', '.join(sorted(able))}",
            option="compute_type",
        )


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
