"""How much fits into a batch, and what happens when it does not."""

from __future__ import annotations

import gc
from dataclasses import replace

from bakeoff.engines.batch.careful import Careful, Memory
from bakeoff.engines.batch.plan import Limits
from bakeoff.engines.ctranslate2.generation import kin
from bakeoff.engines.ctranslate2.loading import Loaded
from bakeoff.engines.footprint import LEAST_TOKENS
from bakeoff.engines.machine import available_memory
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.stock import cache_bytes_per_token

_ROWS = 32
"""For each of the library's workers."""
_TOKENS = 16_384
_SPREAD = 1 / 3
"""Prompts of a decoder-only batch: what is longer than the shortest is read token by token, which
pays as long as it is few beside the new ones (a batch of half the rows takes about two thirds of
the time)."""
_SHARE = 4
"""The cache of a batch may take one part in this many of the memory that is free."""
_SIGNS = ("bad_alloc", "out of memory", "not enough memory", "cannot allocate")
_FLOAT32 = 4


def out_of_memory(error: BaseException) -> bool:
    """Whether the library says that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in _SIGNS)


def text_batches(loaded: Loaded, options: EngineOptions) -> Careful:
    """What plans and runs batches of texts."""
    continues = not loaded.config.is_encoder_decoder
    limits = replace(_limits(loaded, options), spread=_SPREAD if continues else None)
    return Careful(limits, Memory(out_of_memory, gc.collect), kin)


def score_batches(loaded: Loaded, options: EngineOptions) -> Careful:
    """What plans and runs batches of continuations; every token has a number for each other."""
    limits = _limits(loaded, options)
    if not options.batch_tokens:
        fitting = available_memory() // _SHARE // (loaded.kept.size * _FLOAT32)
        limits = replace(limits, tokens=max(1, min(limits.tokens, fitting)))
    return Careful(limits, Memory(out_of_memory, gc.collect))


def _limits(loaded: Loaded, options: EngineOptions) -> Limits:
    rows = options.max_batch or _ROWS * loaded.workers
    if options.batch_tokens:
        return Limits(rows, options.batch_tokens)
    fitting = available_memory() // _SHARE
    fitting //= cache_bytes_per_token(loaded.config.to_dict(), _FLOAT32)
    return Limits(rows, max(LEAST_TOKENS, min(_TOKENS * loaded.workers, fitting)))
