"""All files of a described model on this machine, fetched or converted where need be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bakeoff.core.modelref import ModelRef
from bakeoff.core.ports import ModelFacts
from bakeoff.engines import hub
from bakeoff.engines.cache import Lease, acquire
from bakeoff.engines.facts import adapter_ref, find, tokenizer_ref, weights_of
from bakeoff.engines.gguf import KIND, conversion_key
from bakeoff.engines.identity import part_of


@dataclass(frozen=True)
class ModelFiles:
    """Folders that hold everything a model needs.

    Attributes:
        model: configuration and weights.
        tokenizer: the tokenizer's files.
        adapter: PEFT weights, or None.
        code_revision: commit of code that lies in another repository, or None.
        lease: keeps a cached conversion in place, or None.
    """

    model: Path
    tokenizer: Path
    adapter: Path | None
    code_revision: str | None
    lease: Lease | None


def locate(facts: ModelFacts, convert: Callable[[Path, Path], None]) -> ModelFiles:
    """Fetch what is not there yet; `convert(file, folder)` turns a GGUF file into a folder.

    Raises:
        ModelError: a file cannot be had, or does not convert.
    """
    lease = None
    if facts.ref.gguf_file is not None:
        file = gguf_path(facts.ref)
        key = conversion_key(file)
        lease = acquire(KIND, key, str(file), lambda folder: convert(file, folder))
        folder = lease.path
    else:
        folder = _with_weights(facts.ref)
    tokenizer, adapter = tokenizer_ref(facts.ref), adapter_ref(facts.ref)
    code = part_of(facts.identity, "code")
    return ModelFiles(
        model=folder,
        tokenizer=find(tokenizer).folder if tokenizer else folder,
        adapter=_adapter(adapter) if adapter else None,
        code_revision=code.rpartition("@")[2] if code else None,
        lease=lease,
    )


def gguf_path(ref: ModelRef) -> Path:
    """Where a described model's GGUF file lies."""
    name = ref.gguf_file or ""
    if ref.scheme == "hf":
        return hub.fetch(hub.resolve(ref.name, ref.revision), [name]) / name
    return ref.path / name if ref.path.is_dir() else ref.path


def _with_weights(ref: ModelRef) -> Path:
    source = find(ref)
    weights = weights_of(source)
    return hub.fetch(source.repo, weights) if source.repo else source.folder


def _adapter(ref: ModelRef) -> Path:
    source = find(ref)
    if source.repo is None:
        return source.folder
    weights = [f for f in source.files if f.startswith("adapter_model.")]
    return hub.fetch(source.repo, weights)
