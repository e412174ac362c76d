"""A converted model and its tokenizer in memory; no torch weights are read."""

from __future__ import annotations

import os
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import transformers

from bakeoff.core.errors import BakeoffError, ModelLoadFailed
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.ctranslate2.converted import (
    MODEL,
    SOURCE,
    Kept,
    arithmetic,
    converted,
    tokenizer_folder,
)
from bakeoff.engines.ctranslate2.room import check_room, out_of_memory, ran_out
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.text.tokenizers import load_tokenizer
from bakeoff.engines.transformers.configkeys import unknown_keys
from bakeoff.engines.transformers.quiet import quiet

_THREADS_EACH = 4
"""Of a batch. On two cores a batch of 16 rows on both costs as much as two of 16 side by side, and
a row alone is done sooner; with many threads a batch gains little from one more."""
_RUNNERS = {"seq2seq": "Translator", "causal": "Generator"}


@dataclass(eq=False)
class Loaded:
    """A model in memory.

    Attributes:
        runner: a `Translator` (encoder-decoder) or `Generator` of the library; None once closed.
        tokenizer: its `PreTrainedTokenizerBase`.
        config: its configuration, as the transformers library reads it.
        kept: what its conversion kept.
        dtype: arithmetic, for example `float32` or `int8_float32`.
        workers: how many batches run at the same time.
        notices: what was noticed while loading.
    """

    runner: Any
    tokenizer: Any
    config: Any
    kept: Kept
    dtype: str
    workers: int
    notices: tuple[Notice, ...]

    def close(self) -> None:
        """Free the model and end the library's threads.

        They let go of their last callback only then: one that did so while the interpreter ends
        would take the process down.
        """
        self.runner = None


def load_converted(facts: ModelFacts, options: EngineOptions) -> Loaded:
    """Load a model, converting it where the cache has no conversion; blocks.

    Raises:
        OutOfMemory: it does not fit into memory, with its conversion or while that is made.
        ModelError: it cannot be converted or loaded.
    """
    check_room(facts)
    lease = converted(facts)
    try:
        loaded = _load(facts, lease.path, options)
    except BakeoffError:
        lease.release()
        raise
    except Exception as error:  # whatever a library says
        lease.release()
        if out_of_memory(error):
            raise ran_out(facts) from error
        raise ModelLoadFailed(
            f"{facts.ref.uri} cannot be loaded by ctranslate2: {error}"
        ) from error
    weakref.finalize(loaded, lease.release)
    return loaded


def _load(facts: ModelFacts, entry: Path, options: EngineOptions) -> Loaded:
    notices: list[Notice] = []
    workers, threads = _threads(options)
    runner = getattr(ctranslate2, _RUNNERS[facts.capabilities.kind])(
        str(entry / MODEL),
        device="cpu",
        compute_type=arithmetic(facts),
        inter_threads=workers,
        intra_threads=threads,
    )
    with quiet(notices):
        tokenizer = load_tokenizer(facts.ref, tokenizer_folder(entry))
        config = transformers.AutoConfig.from_pretrained(str(entry / SOURCE))
    notices += unknown_keys(config, entry / SOURCE)
    return Loaded(
        runner=runner,
        tokenizer=tokenizer,
        config=config,
        kept=Kept.read(entry),
        dtype=str(runner.compute_type),
        workers=workers,
        notices=tuple(dict.fromkeys(notices)),
    )


def _threads(options: EngineOptions) -> tuple[int, int]:
    """Batches at the same time, and threads of each."""
    there = options.threads or _cores()
    workers = max(1, there // _THREADS_EACH)
    return workers, there // workers


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system says which cores a process may use
        return os.cpu_count() or 1
