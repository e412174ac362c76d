"""How much fits, and what happens when it does not."""

from __future__ import annotations

import gc

import torch

from bakeoff.engines.batch.careful import Careful, Memory
from bakeoff.engines.batch.plan import Limits
from bakeoff.engines.footprint import tokens_of_a_batch
from bakeoff.engines.machine import available_memory, memory_ran_out
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.steps.pace import Pace
from bakeoff.engines.stock import cache_bytes_per_token
from bakeoff.engines.transformers.loading import Loaded

_CPU_ROWS = 16
"""On two cores more rows gain little in the library's batches and finish later."""
_CPU_STEP_ROWS = 32
"""Token by token, where no row waits for another, they gain a third (design/0005)."""
_DEVICE_ROWS = 64
_CPU_TOKENS = 16_384
_DEVICE_TOKENS = 131_072
_CPU_PREFIXES = 512 * 2**20
_DEVICE_PREFIXES = 4 * 2**30
_PREFIX_SHARE = 16
"""What is kept of earlier prompts may take one part in this many of the memory that is free."""
_SIGNS = ("out of memory", "not enough memory", "defaultcpuallocator")


def out_of_memory(error: BaseException) -> bool:
    """Whether a library says that memory ran out; on a CPU it is a plain RuntimeError."""
    return isinstance(error, torch.cuda.OutOfMemoryError) or memory_ran_out(error, _SIGNS)


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
    usual = 1 if loaded.alone else _CPU_ROWS if on_cpu else _DEVICE_ROWS
    rows = options.max_batch or usual
    if options.batch_tokens:
        return Limits(rows, options.batch_tokens)
    config, itemsize = loaded.model.config.to_dict(), loaded.model.dtype.itemsize
    most = _CPU_TOKENS if on_cpu else _DEVICE_TOKENS
    each = cache_bytes_per_token(config, itemsize)
    return Limits(rows, tokens_of_a_batch(_free(loaded.device), each, most))


def pace(loaded: Loaded, options: EngineOptions) -> Pace:
    """How many rows go step by step at a time, and how many tokens they may hold."""
    found = limits(loaded, options)
    usual = _CPU_STEP_ROWS if loaded.device == "cpu" and not loaded.alone else found.rows
    return Pace(options.max_batch or usual, found.tokens)


def prefix_bytes(loaded: Loaded, options: EngineOptions) -> int:
    """How much may be kept of earlier prompts: the option, else what the device suggests."""
    if options.prefix_bytes is not None:
        return options.prefix_bytes
    most = _CPU_PREFIXES if loaded.device == "cpu" else _DEVICE_PREFIXES
    return min(most, _free(loaded.device) // _PREFIX_SHARE)


def _free(device: str) -> int:
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    return available_memory()
