"""PEFT weights laid over a model: what they are, from their configuration alone, without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from bakeoff.core.errors import ModelLoadFailed, UnsupportedOption
from bakeoff.core.modelfacts import Capabilities, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.rows import Notice
from bakeoff.engines.checkpoint import read_json
from bakeoff.engines.hub import HubRepo
from bakeoff.engines.identity import folder_identity, with_part

CONFIG = "adapter_config.json"
WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
_OUTSIDE_THE_LAYERS = frozenset(
    {
        "PROMPT_TUNING", "MULTITASK_PROMPT_TUNING", "P_TUNING", "PREFIX_TUNING",
        "ADAPTION_PROMPT", "CPT", "CARTRIDGE", "XLORA",
    }
)  # fmt: skip
"""Kinds that put vectors before the text, or choose among other adapters."""
_MADE_FOR = {
    "CAUSAL_LM": "decoder-only models",
    "SEQ_2_SEQ_LM": "encoder-decoder models",
    "SEQ_CLS": "classifiers",
    "QUESTION_ANS": "extractive question answering",
}
"""`task_type` in words; others fit any model."""


class Found(Protocol):
    """A folder or repository that was found; `bakeoff.engines.facts.Source` is one."""

    @property
    def ref(self) -> ModelRef:
        """The reference, its revision pinned."""

    @property
    def folder(self) -> Path:
        """Where the small files lie."""

    @property
    def files(self) -> tuple[str, ...]:
        """All paths."""

    @property
    def repo(self) -> HubRepo | None:
        """The repository, or None for a local folder."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """One set of PEFT weights.

    Attributes:
        uri: reference, its revision pinned.
        content: what its weights are, for the identity of the model.
        config: `adapter_config.json`.
    """

    uri: str
    content: str
    config: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """For example `LORA`."""
        return str(self.config.get("peft_type", ""))


def with_adapters(facts: ModelFacts, found: Sequence[Found]) -> ModelFacts:
    """The facts of a model with PEFT weights over it: pinned, and part of its identity.

    Raises:
        ModelLoadFailed: a folder holds no PEFT weights; what is missing is named.
        UnsupportedOption: they are of a kind that is not laid over a model here, were made for
            another kind of model, or do not go together.
    """
    if not found:
        return facts
    adapters = [_read(one) for one in found]
    for adapter in adapters:
        _check_kind(adapter, facts)
    _check_together(adapters)
    uris = tuple(adapter.uri for adapter in adapters)
    identity = facts.identity
    for adapter in adapters:
        identity = with_part(identity, "adapter", adapter.content)
    said = uris[0] if len(uris) == 1 else uris
    notices = (notice for adapter in adapters if (notice := _of_another(adapter, facts.ref)))
    return replace(
        facts,
        ref=facts.ref.model_copy(update={"adapter": said}),
        identity=identity,
        notices=(*facts.notices, *notices),
    )


def check_no_adapter_inside(uri: str, files: Sequence[str]) -> None:
    """Whether a model's folder holds PEFT weights beside the model's own.

    transformers lays them over the model without being asked, but only where PEFT is installed.

    Raises:
        UnsupportedOption: it does; the message says what to do.
    """
    if CONFIG in files:
        raise UnsupportedOption(
            f"{uri} holds a model and PEFT weights ({CONFIG}) at once: move the adapter's files "
            "into a folder of their own, and name it under `adapter:` if they are meant to be used",
            option="model",
        )


def adapter_weights(uri: str, files: Sequence[str]) -> str:
    """The file that holds the weights.

    Raises:
        ModelLoadFailed: there is none.
    """
    for name in WEIGHTS:
        if name in files:
            return name
    raise ModelLoadFailed(
        f"adapter {uri} has {CONFIG} but neither {' nor '.join(WEIGHTS)}: its weights are missing"
    )


def _read(found: Found) -> Adapter:
    uri = found.ref.uri
    config = read_json(f"adapter {uri}", found.folder / CONFIG)
    if config is None:
        whole = "config.json" in found.files
        hint = "it holds a whole model: name it under `model:`" if whole else "name their folder"
        raise ModelLoadFailed(
            f"adapter {uri} holds no PEFT weights, for it has no {CONFIG}: {hint}"
        )
    weights = adapter_weights(uri, found.files)
    content = uri if found.repo else folder_identity(found.folder, (CONFIG, weights))
    return Adapter(uri, content, config)


def _check_kind(adapter: Adapter, facts: ModelFacts) -> None:
    if adapter.kind in _OUTSIDE_THE_LAYERS:
        raise UnsupportedOption(
            f"adapter {adapter.uri} is of the kind {adapter.kind}: bakeoff lays weights over the "
            "layers of a model (LoRA and its kin); name a model that was trained whole",
            option="adapter",
        )
    made_for = str(adapter.config.get("task_type"))
    if made_for in _MADE_FOR and made_for not in _fitting(facts.capabilities):
        raise UnsupportedOption(
            f"adapter {adapter.uri} was made for {_MADE_FOR[made_for]} (task_type {made_for}), but "
            f"{facts.ref.uri} is a {facts.architecture}: name the model it was trained on"
            + _named_base(adapter),
            option="adapter",
        )


def _fitting(can: Capabilities) -> set[str]:
    if can.kind == "encoder":
        heads = {"classify": "SEQ_CLS", "answer-span": "QUESTION_ANS"}
        return {task for head, task in heads.items() if head in can.heads}
    return {"CAUSAL_LM" if can.kind == "causal" else "SEQ_2_SEQ_LM"}


def _check_together(adapters: Sequence[Adapter]) -> None:
    """What PEFT cannot add up."""
    kinds = sorted({adapter.kind for adapter in adapters})
    if len(kinds) > 1:
        raise UnsupportedOption(
            f"adapter names weights of the kinds {' and '.join(kinds)}: only weights of one kind "
            "are added up; keep those of one",
            option="adapter",
        )
    whole = [a.uri for a in adapters if a.config.get("modules_to_save")]
    if len(adapters) > 1 and whole:
        raise UnsupportedOption(
            f"adapter {whole[0]} replaces whole layers (modules_to_save), which cannot be added "
            "to the changes of another: name it alone",
            option="adapter",
        )


def _of_another(adapter: Adapter, ref: ModelRef) -> Notice | None:
    """Where the names differ it may still be the same model: a copy, or one trained further."""
    base = str(adapter.config.get("base_model_name_or_path") or "")
    if not base or _last(base) in (_last(ref.name), ref.short_name.casefold()):
        return None
    text = f"adapter {adapter.uri} was made for {base!r} and is laid over {ref.uri}"
    return Notice("adapter-base", f"{text}: the texts are worth nothing where these differ")


def _named_base(adapter: Adapter) -> str:
    base = adapter.config.get("base_model_name_or_path")
    return f" ({base})" if base else ""


def _last(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1].casefold()
