"""A model's export in the cache: found there, or made once.

    <entry>/model/       what the library loads
    <entry>/source/      the checkpoint's small files, tokenizer included
    <entry>/tokenizer/   another tokenizer, only where one was named
    <entry>/kept.json    what else the engine must know: see `Kept`

An entry needs nothing beside itself: neither the checkpoint nor the tools that exported it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.core.canonical import digest
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.registry import Registry
from bakeoff.engines.cache import Lease, acquire, entry_folder, published
from bakeoff.engines.openvino.tools import RECIPE

KIND = "openvino"
"""Name of the converter in the cache."""
LAYOUT = 1
"""Raised when the export gives another result for the same model and versions."""
MODEL, SOURCE, TOKENIZER, KEPT_FILE = "model", "source", "tokenizer", "kept.json"
WEIGHTS = "model/openvino_model.bin"

_CONVERTERS: Registry[Callable[[ModelFacts, Path], None]] = Registry(
    "converter", {KIND: "bakeoff.engines.openvino.conversion:convert"}
)


@dataclass(frozen=True)
class Kept:
    """What an export keeps beside the weights.

    Attributes:
        size: how many token ids the model knows.
        said: the checkpoint's generation configuration: ids with a meaning.
    """

    size: int
    said: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Store it in an entry."""
        (folder / KEPT_FILE).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Kept:
        """Read it from an entry."""
        return cls(**json.loads((folder / KEPT_FILE).read_text(encoding="utf-8")))


def converted(facts: ModelFacts) -> Lease:
    """The export of a model, and a lease on it; blocks while it is made.

    Raises:
        ModelLoadFailed: the model cannot be exported, or what came out differs from it.
        ModelError: its files cannot be had.
    """
    # making it loads torch and transformers, and only where the cache lacks the entry
    return acquire(
        KIND, key(facts), facts.ref.uri, lambda folder: _CONVERTERS.get(KIND)(facts, folder)
    )


def is_converted(facts: ModelFacts) -> bool:
    """Whether the cache has the export already."""
    return published(KIND, key(facts))


def entry_of(facts: ModelFacts) -> Path:
    """Where the export lies, or would."""
    return entry_folder(KIND, key(facts))


def key(facts: ModelFacts) -> str:
    """Cache key: the model's content, and what exports it."""
    return digest([facts.identity, facts.ref.gguf_file, KIND, RECIPE.requirements, LAYOUT])


def tokenizer_folder(entry: Path) -> Path:
    """Where the tokenizer's files lie in an entry."""
    other = entry / TOKENIZER
    return other if other.is_dir() else entry / SOURCE
