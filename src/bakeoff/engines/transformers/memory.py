"""How much fits, and what happens when it does not."""

from __future__ import annotations

import gc
import os
from typing import Any

import torch

from bakeoff.engines.batch.careful import Careful, Memory
from bakeoff.engines.batch.plan import Limits
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers.loading import Loaded

_CPU_ROWS = 16
"""On two cores more rows gain little and finish later."""
_DEVICE_ROWS = 64
_CPU_TOKENS = 16_384
_DEVICE_TOKENS = 131_072
_LEAST_TOKENS = 1_024
_SHARE = 4
"""The cache of a batch may take one part in this many of the memory that is free."""
_UNKNOWN_FREE = 4 << 30
_SIGNS = ("out of memory", "not enough memory", "defaultcpuallocator")


def out_of_memory(error: BaseException) -> bool:
    """Whether a library says that memory ran out; on a CPU it is a plain RuntimeError."""
    if isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in _SIGNS)


def release(device: str) -> None:
    """Give back what a failed batch held."""
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()


def careful(loaded: Loaded, options: EngineOptions) -> Careful:
    """What plans and runs the batches of a model."""
    memory = Memory(out_of_memory, lambda: release(loaded.device))
    return Careful(limits(loaded, options), memory)


def limits(loaded: Loaded, options: EngineOptions) -> Limits:
    """How large batches may be: the options, else what the device and the model suggest."""
    on_cpu = loaded.device == "cpu"
    rows = options.max_batch or (_CPU_ROWS if on_cpu else _DEVICE_ROWS)
    if options.batch_tokens:
        return Limits(rows, options.batch_tokens)
    fitting = _free(loaded.device) // _SHARE // _bytes_per_token(loaded.model)
    most = _CPU_TOKENS if on_cpu else _DEVICE_TOKENS
    return Limits(rows, max(_LEAST_TOKENS, min(most, fitting)))


def _free(device: str) -> int:
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):  # not every system knows these names
        return _UNKNOWN_FREE


def _bytes_per_token(model: Any) -> int:
    """Keys and values of one token in all layers; a guess where a config names things oddly."""
    config = model.config.get_text_config(decoder=True)

    def number(*names: str) -> int | None:
        found = (getattr(config, name, None) for name in names)
        return next((value for value in found if isinstance(value, int) and value > 0), None)

    hidden = number("hidden_size", "d_model", "n_embd") or 1024
    heads = number("num_attention_heads", "num_heads", "n_head") or 16
    key_heads = number("num_key_value_heads") or heads
    width = number("head_dim", "d_kv") or hidden // heads
    layers = number("num_hidden_layers", "num_layers", "decoder_layers", "n_layer") or 24
    cross = 2 if model.config.is_encoder_decoder else 1
    return int(2 * cross * layers * key_heads * width * model.dtype.itemsize)
