"""All files of a described model on this machine, fetched or converted where need be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import hub
from bakeoff.engines.adapters import adapter_weights
from bakeoff.engines.cache import Lease, acquire
from bakeoff.engines.facts import Source, adapter_refs, find, tokenizer_ref, weights_of
from bakeoff.engines.gguf import KIND, conversion_key
from bakeoff.engines.identity import part_of


@dataclass(frozen=True)
class ModelFiles:
    """Folders that hold everything a model needs.

    Attributes:
        model: configuration and weights.
        tokenizer: the tokenizer's files.
        adapters: PEFT weights, in order.
        code_revision: commit of code that lies in another repository, or None.
        lease: keeps a cached conversion in place, or None.
    """

    model: Path
    tokenizer: Path
    adapters: tuple[Path, ...]
    code_revision: str | None
    lease: Lease | None


def locate(
    facts: ModelFacts, convert: Callable[[Path, Path], None], source: Source | None = None
) -> ModelFiles:
    """Fetch what is not there yet; `convert(file, folder)` turns a GGUF file into a folder.

    `source` is the checkpoint where it was found already.

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
        folder = _with_weights(source or find(facts.ref))
    tokenizer = tokenizer_ref(facts.ref)
    code = part_of(facts.identity, "code")
    return ModelFiles(
        model=folder,
        tokenizer=find(tokenizer).folder if tokenizer else folder,
        adapters=tuple(_adapter(adapter) for adapter in adapter_refs(facts.ref)),
        code_revision=code.rpartition("@")[2] if code else None,
        lease=lease,
    )


def gguf_path(ref: ModelRef) -> Path:
    """Where a described model's GGUF file lies."""
    name = ref.gguf_file or ""
    if ref.scheme == "hf":
        return hub.fetch(hub.resolve(ref.name, ref.revision), [name]) / name
    return ref.path / name if ref.path.is_dir() else ref.path


def _with_weights(source: Source) -> Path:
    weights = weights_of(source)
    return hub.fetch(source.repo, weights) if source.repo else source.folder


def _adapter(ref: ModelRef) -> Path:
    source = find(ref)
    weights = adapter_weights(ref.uri, source.files)
    return hub.fetch(source.repo, [weights]) if source.repo else source.folder
