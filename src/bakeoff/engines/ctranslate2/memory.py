"""How much fits into a batch."""

from __future__ import annotations

import gc
from dataclasses import replace

from bakeoff.engines.batch.careful import Careful, Memory
from bakeoff.engines.batch.plan import Limits
from bakeoff.engines.ctranslate2.generation import kin
from bakeoff.engines.ctranslate2.loading import Loaded
from bakeoff.engines.ctranslate2.room import out_of_memory
from bakeoff.engines.footprint import share_of, tokens_of_a_batch
from bakeoff.engines.machine import available_memory
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.stock import cache_bytes_per_token

_ROWS = 64
"""For each of the library's workers: with two threads twice as many tokens a second as 16."""
_TOKENS = 16_384
_SPREAD = 1 / 3
"""Prompts of a decoder-only batch: what is longer than the shortest is read token by token, which
pays as long as it is few beside the new ones (a batch of half the rows takes about two thirds of
the time)."""
_FLOAT32 = 4


def text_batches(loaded: Loaded, options: EngineOptions) -> Careful:
    """What plans and runs batches of texts."""
    continues = not loaded.config.is_encoder_decoder
    limits = replace(_limits(loaded, options), spread=_SPREAD if continues else None)
    return Careful(limits, Memory(out_of_memory, gc.collect), kin)


def score_batches(loaded: Loaded, options: EngineOptions) -> Careful:
    """What plans and runs batches of continuations; every token has a number for each other."""
    limits = _limits(loaded, options)
    if not options.batch_tokens:
        fitting = share_of(available_memory(), loaded.kept.size * _FLOAT32)
        limits = replace(limits, tokens=max(1, min(limits.tokens, fitting)))
    return Careful(limits, Memory(out_of_memory, gc.collect))


def _limits(loaded: Loaded, options: EngineOptions) -> Limits:
    rows = options.max_batch or _ROWS * loaded.workers
    if options.batch_tokens:
        return Limits(rows, options.batch_tokens)
    each = cache_bytes_per_token(loaded.config.to_dict(), _FLOAT32)
    return Limits(rows, tokens_of_a_batch(available_memory(), each, _TOKENS * loaded.workers))
