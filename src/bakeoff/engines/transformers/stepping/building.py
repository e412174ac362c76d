"""Which models the loop can drive, and what it takes for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from bakeoff.engines import families
from bakeoff.engines.batch.careful import Memory
from bakeoff.engines.batch.rows import Arrived, Control, Row
from bakeoff.engines.grammar.matching import Matching
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.steps.port import StepModel
from bakeoff.engines.steps.prefixes import Prefixes
from bakeoff.engines.steps.scheduler import Parts, Scheduler
from bakeoff.engines.steps.sequence import Seq, Sink
from bakeoff.engines.text.special import Special
from bakeoff.engines.text.streaming import Push, Telling
from bakeoff.engines.text.writing import Writer
from bakeoff.engines.transformers import memory
from bakeoff.engines.transformers.generation import Generator
from bakeoff.engines.transformers.loading import Loaded
from bakeoff.engines.transformers.stepping.causal import CausalSteps
from bakeoff.engines.transformers.stepping.choosing import Chooser
from bakeoff.engines.transformers.stepping.columns import Part, part_bytes
from bakeoff.engines.transformers.stepping.crossing import CrossingSteps
from bakeoff.engines.transformers.stepping.probing import keeps_rows_apart

_PLAIN = (DynamicLayer, DynamicSlidingWindowLayer)
"""Caches that full-length ones can stand for: the library masks what lies beyond a window."""


@dataclass(frozen=True)
class Stepper:
    """What the loop of one model is made of; a `Writes`.

    Attributes:
        scheduler: runs the model step by step.
        writer: makes rows and text.
    """

    scheduler: Scheduler
    writer: Writer

    def read(self, arrived: Arrived) -> list[Row]:
        """See `Writes.read`."""
        return self.writer.read(arrived)

    def telling(self, row: Row, push: Push) -> Telling:
        """See `Writes.telling`."""
        return self.writer.telling(row, push)

    def seq(self, row: Row, control: Control, sink: Sink) -> Seq:
        """See `Writes.seq`."""
        return Seq.of(row, control, sink, self.writer.generator.decode)


def stepper(
    loaded: Loaded, writer: Writer, generator: Generator, options: EngineOptions
) -> Stepper | None:
    """What drives this model step by step; None where only the library's `generate` can."""
    special = writer.reading.special
    prefixes: Prefixes[Part] = Prefixes(memory.prefix_bytes(loaded, options), part_bytes)
    model = step_model(loaded, special.pad, prefixes)
    if model is None:
        return None

    def release() -> None:
        prefixes.clear()
        memory.release(loaded.device)

    parts = Parts(
        model=model,
        chooser=Chooser(special.last, generator.name, _guides(loaded, special)),
        memory=Memory(memory.out_of_memory, release),
        decode=generator.decode,
        last=special.last,
    )
    return Stepper(Scheduler(parts, memory.pace(loaded, options)), writer)


def _guides(loaded: Loaded, special: Special) -> Matching:
    size = int(loaded.model.get_input_embeddings().weight.shape[0])
    return Matching(loaded.tokenizer, special.end, size)


def step_model(loaded: Loaded, pad: int, prefixes: Prefixes[Part]) -> StepModel | None:
    """The model behind the scheduler's port, or None."""
    model = loaded.model
    if not drives(loaded, pad):
        return None
    positions = families.positions(model)
    if positions is not None:
        return CrossingSteps(model, loaded.device, pad, positions)
    return CausalSteps(
        model, loaded.device, pad, prefixes, lambda token: _name(loaded.tokenizer, token)
    )


def drives(loaded: Loaded, pad: int) -> bool:
    """Whether the loop drives this model; else only the library's `generate` can."""
    model = loaded.model
    if not plain(model):
        return False
    family = model.config.model_type
    if model.config.is_encoder_decoder:  # its parts are called by themselves: all have to be here
        return family in families.BESIDE_ENCODERS and loaded.placed == loaded.device
    return family in families.DECODERS or keeps_rows_apart(model, loaded.device, pad)


def _name(tokenizer: Any, token: int) -> str:
    return str(tokenizer.decode([token]))


def plain(model: Any) -> bool:
    """Whether every layer keeps keys and values, and nothing else."""
    if getattr(model.config, "attention_chunk_size", None):
        return False
    try:
        layers = DynamicCache(config=model.config).layers
    except Exception:  # the library raises what it likes on a configuration without layers
        return False
    return bool(layers) and all(type(layer) in _PLAIN for layer in layers)
