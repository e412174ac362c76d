"""A model's conversion in the cache: found there, or made once.

    <entry>/model/       what ctranslate2 loads; its tokens are the ids: `"0"`, `"1"`, ...
    <entry>/source/      the checkpoint's small files, tokenizer included
    <entry>/tokenizer/   another tokenizer, only where one was named
    <entry>/kept.json    what else the engine must know: see `Kept`

An entry needs nothing beside itself, so that a repository, or a GGUF file's own conversion, may be
gone by the time it is loaded.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bakeoff.core.canonical import digest
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.registry import Registry
from bakeoff.engines.cache import Lease, acquire

KIND = "ctranslate2"
"""Name of the converter in the cache."""
LAYOUT = 1
"""Raised when the conversion gives another result for the same model and versions."""
MODEL, SOURCE, TOKENIZER, KEPT_FILE = "model", "source", "tokenizer", "kept.json"
WEIGHTS = "model/model.bin"
FLOAT32 = "float32"

_CONVERTERS: Registry[Callable[[ModelFacts, Path], None]] = Registry(
    "converter", {KIND: "bakeoff.engines.ctranslate2.conversion:convert"}
)


@dataclass(frozen=True)
class Kept:
    """What a conversion keeps beside the weights.

    Attributes:
        size: how many token ids the converted model knows.
        said: the checkpoint's generation configuration: ids with a meaning, and processors.
        starts_with: what its decoder reads first whatever the row says, as an id that it knows
            (Marian's start token has no row of its own), or None.
    """

    size: int
    said: dict[str, Any] = field(default_factory=dict)
    starts_with: int | None = None

    def write(self, folder: Path) -> None:
        """Store it in an entry."""
        (folder / KEPT_FILE).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Kept:
        """Read it from an entry."""
        return cls(**json.loads((folder / KEPT_FILE).read_text(encoding="utf-8")))


def converted(facts: ModelFacts) -> Lease:
    """The conversion of a model, and a lease on it; blocks while it is made.

    Raises:
        ModelLoadFailed: the model cannot be converted, or what came out differs from it.
        ModelError: its files cannot be had.
    """
    # the converter loads torch and transformers, and only where the cache lacks the entry
    return acquire(
        KIND, key(facts), facts.ref.uri, lambda folder: _CONVERTERS.get(KIND)(facts, folder)
    )


def key(facts: ModelFacts) -> str:
    """Cache key: the model's content, what converts it, and into what."""
    versions = [importlib.metadata.version(name) for name in ("ctranslate2", "transformers")]
    said = [facts.identity, facts.ref.gguf_file, KIND, versions, arithmetic(facts), LAYOUT]
    return digest(said)


def arithmetic(facts: ModelFacts) -> str:
    """What the converted model computes with: `compute_type`, by default float32."""
    return facts.ref.compute_type or FLOAT32


def tokenizer_folder(entry: Path) -> Path:
    """Where the tokenizer's files lie in an entry."""
    other = entry / TOKENIZER
    return other if other.is_dir() else entry / SOURCE
