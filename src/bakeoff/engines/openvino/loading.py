"""An exported model in a process of its own, and its tokenizer here; no torch weights are read."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers

from bakeoff.core.errors import BakeoffError, EngineLost, ModelLoadFailed
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.footprint import tokens_of_a_batch
from bakeoff.engines.machine import available_memory
from bakeoff.engines.openvino.converted import MODEL, SOURCE, Kept, converted, tokenizer_folder
from bakeoff.engines.openvino.process import Limits, Process
from bakeoff.engines.openvino.room import check_room
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.steps.pace import Pace
from bakeoff.engines.stock import cache_bytes_per_token
from bakeoff.engines.text.tokenizers import load_tokenizer
from bakeoff.engines.transformers.configkeys import unknown_keys
from bakeoff.engines.transformers.quiet import quiet

_ROWS = 32
_TOKENS = 32_768
_STEP = 256
"""Tokens of a step: how much of prompts is read beside those who write."""
_FLOAT32 = 4


@dataclass(eq=False)
class Loaded:
    """A model in its process.

    Attributes:
        process: that owns it.
        again: starts another one.
        tokenizer: its `PreTrainedTokenizerBase`.
        config: its configuration, as the transformers library reads it.
        kept: what its export kept.
        pace: how much may run at a time.
        notices: what was noticed while loading.
    """

    process: Process
    again: Callable[[], Process]
    tokenizer: Any
    config: Any
    kept: Kept
    pace: Pace
    notices: tuple[Notice, ...]


def load_exported(facts: ModelFacts, options: EngineOptions) -> Loaded:
    """Load a model, exporting it where the cache has no export; blocks.

    Raises:
        OutOfMemory: it does not fit into memory.
        ModelError: it cannot be exported or loaded.
    """
    check_room(facts)
    lease = converted(facts)
    try:
        loaded = _load(facts, lease.path, options)
    except BaseException as error:
        lease.release()
        if isinstance(error, EngineLost):
            raise ModelLoadFailed(f"{facts.ref.uri}: {error.message}") from error
        if isinstance(error, BakeoffError) or not isinstance(error, Exception):
            raise
        raise ModelLoadFailed(f"{facts.ref.uri} cannot be loaded by openvino: {error}") from error
    weakref.finalize(loaded, lease.release)
    return loaded


def _load(facts: ModelFacts, entry: Path, options: EngineOptions) -> Loaded:
    notices: list[Notice] = []
    with quiet(notices):
        tokenizer = load_tokenizer(facts.ref, tokenizer_folder(entry))
        config = transformers.AutoConfig.from_pretrained(str(entry / SOURCE))
    notices += unknown_keys(config, entry / SOURCE)
    kept = Kept.read(entry)
    pace = _pace(config, options)
    limits = Limits(options.threads or _cores(), 2 * pace.rows, _STEP)

    def start() -> Process:
        return Process(entry / MODEL, limits)

    return Loaded(
        process=start(),  # last: from here on it has to be closed
        again=start,
        tokenizer=tokenizer,
        config=config,
        kept=kept,
        pace=pace,
        notices=tuple(dict.fromkeys(notices)),
    )


def _pace(config: Any, options: EngineOptions) -> Pace:
    each = cache_bytes_per_token(config.to_dict(), _FLOAT32)
    tokens = options.batch_tokens or tokens_of_a_batch(available_memory(), each, _TOKENS)
    return Pace(rows=options.max_batch or _ROWS, tokens=tokens)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system says which cores a process may use
        return os.cpu_count() or 1
