"""A described checkpoint becomes a model and its tokenizer in memory."""

from __future__ import annotations

import errno
import re
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

from bakeoff.core.errors import BakeoffError, ModelLoadFailed, OutOfMemory
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.cache import bakeoff_home
from bakeoff.engines.decoding import KEPT
from bakeoff.engines.facts import check_unchanged, find
from bakeoff.engines.footprint import advice, check_fits, estimate, size
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.pooling import Pooling, read_pooling
from bakeoff.engines.text.tokenizers import load_tokenizer
from bakeoff.engines.transformers import quantising
from bakeoff.engines.transformers.adapting import lay_over
from bakeoff.engines.transformers.configkeys import unknown_keys
from bakeoff.engines.transformers.conversion import convert
from bakeoff.engines.transformers.devices import Placement, input_device, place, room, spread_over
from bakeoff.engines.transformers.files import ModelFiles, locate
from bakeoff.engines.transformers.gaps import fill_gaps
from bakeoff.engines.transformers.offload import Offload
from bakeoff.engines.transformers.quiet import quiet
from bakeoff.engines.transformers.ropekeys import rope_failure

_CLASSES = {"causal": "AutoModelForCausalLM", "seq2seq": "AutoModelForSeq2SeqLM"}
_HEAD_CLASSES = {
    "answer-span": "AutoModelForQuestionAnswering",
    "classify": "AutoModelForSequenceClassification",
    "embed": "AutoModel",
}
_UNUSED_BY_EMBED = re.compile(r"(^|\.)pooler\.")
_NAMED = 5


@dataclass(frozen=True)
class Loaded:
    """A model in memory.

    Attributes:
        model: a `PreTrainedModel` in evaluation mode. Its `generation_config` holds token ids and
            the settings of `decoding.KEPT` alone; all others stand in `ModelFacts.defaults`.
        tokenizer: its `PreTrainedTokenizerBase`.
        device: where the input goes, for example `cpu` or `cuda:0`.
        dtype: precision of the weights, for example `float32` or `bnb-4bit`.
        notices: what was noticed while loading.
        facts: what was known before.
        pooling: how an embedding model makes its vector.
        placed: where the weights lie, for example `cpu` or `cpu, disk`.
        alone: whether a text would hang on the rows beside it, so that each is computed alone.
        held: what is given back once the model is not used any more; may be closed twice.
    """

    model: Any
    tokenizer: Any
    device: str
    dtype: str
    notices: tuple[Notice, ...]
    facts: ModelFacts | None = None
    pooling: Pooling = field(default_factory=Pooling)
    placed: str = "cpu"
    alone: bool = False
    held: ExitStack = field(default_factory=ExitStack)


def load_model(facts: ModelFacts, options: EngineOptions) -> Loaded:
    """Load weights and tokenizer; blocks until they are in memory.

    Configuration, tokenizer and weights come from one folder (of one commit, for a repository on
    the Hub); weights that the checkpoint lacks are an error, never drawn at random. A model that
    cannot fit is refused before its weights are fetched.

    Raises:
        ModelError: the model cannot be loaded.
        UnsupportedOption: the accelerator is not there, or the tokenizer has no slow version.
    """
    placement = place(facts.ref)
    if options.threads:
        torch.set_num_threads(options.threads)
    source = find(facts.ref)
    check_fits(facts, room(placement), source)
    held = ExitStack()
    try:
        files = locate(facts, convert, source)
        if files.lease is not None:
            held.callback(files.lease.release)
        loaded = _loaded(_Job(facts, files, placement, options, held))
        check_unchanged(facts, source)
    except BakeoffError:
        held.close()
        raise
    except Exception as error:  # whatever a library, or a checkpoint's own code, raises
        held.close()
        raise _translated(facts, placement, error) from error
    weakref.finalize(loaded.model, held.close)
    return loaded


@dataclass(frozen=True)
class _Job:
    """A model on its way into memory."""

    facts: ModelFacts
    files: ModelFiles
    placement: Placement
    options: EngineOptions
    held: ExitStack


def _loaded(job: _Job) -> Loaded:
    facts, files, notices = job.facts, job.files, list[Notice]()
    with quiet(notices):
        tokenizer = load_tokenizer(facts.ref, files.tokenizer, _remote(facts, files))
        model = _model(job, notices)
        if "classify" in facts.capabilities.heads and model.config.pad_token_id is None:
            # a decoder with labels reads its last real token, which it finds by this id
            model.config.pad_token_id = tokenizer.pad_token_id
        placed = _placed(job, model, notices)
        alone = quantising.settle(model, job.options, notices)
        device = input_device(model, job.placement)
        model = lay_over(model, facts.ref, files.adapters, device).eval()
    return Loaded(
        model=model,
        tokenizer=tokenizer,
        device=device,
        dtype=quantising.quantised(model) or str(model.dtype).removeprefix("torch."),
        notices=tuple(dict.fromkeys(notices)),
        facts=facts,
        pooling=read_pooling(facts.ref.uri, files.model),
        placed=placed,
        alone=alone,
        held=job.held,
    )


def _placed(job: _Job, model: Any, notices: list[Notice]) -> str:
    """Where the weights lie; what is on disk is made ready to be read."""
    if not job.placement.spread:
        return job.placement.device
    places, allowed = spread_over(model), job.placement.arguments["max_memory"] or {}
    on_disk, most = places.get("disk", 0), allowed.get("disk")
    if most is not None and on_disk > most:  # the library itself knows no limit there
        raise OutOfMemory(
            f"{job.facts.ref.uri}: {size(on_disk)} would stay on disk where max_memory allows "
            f"{size(most)}: raise that, or what cpu may take"
        )
    if on_disk:
        fill_gaps(model)
    if on_disk or len(places) > 1:
        whole = sum(places.values())
        parts = ", ".join(f"{count / whole:.0%} on {place}" for place, count in places.items())
        disk = "; what is on disk is read again on every pass" if on_disk else ""
        notices.append(Notice("placement", f"the weights are spread: {parts}{disk}"))
    return ", ".join(places)


def _remote(facts: ModelFacts, files: ModelFiles) -> dict[str, Any]:
    found: dict[str, Any] = {"trust_remote_code": facts.ref.trust_remote_code}
    if files.code_revision is not None:
        found["code_revision"] = files.code_revision
    return found


def _model(job: _Job, notices: list[Notice]) -> Any:
    facts, files, placement = job.facts, job.files, job.placement
    remote = _remote(facts, files)
    config = transformers.AutoConfig.from_pretrained(str(files.model), **remote)
    notices.extend(unknown_keys(config, files.model))
    arguments = {**placement.arguments, **quantising.arguments(facts.ref, placement, config)}
    if placement.spread:
        offload = Offload()
        job.held.callback(offload.remove)
        arguments["offload_folder"] = str(offload.path)
    elif "quantization_config" in vars(config):
        arguments.setdefault("device_map", {"": placement.device})
    try:
        model, info = _class_of(facts).from_pretrained(
            str(files.model), config=config, output_loading_info=True, **arguments, **remote
        )
    except KeyError as error:
        raise rope_failure(facts.ref.uri, config, error) or error from error
    _check_weights(facts, info, notices)
    if "device_map" not in arguments:
        model = model.to(placement.device)
    if getattr(model, "generation_config", None) is not None:
        model.generation_config = _kept(model.generation_config)
    return model


def _class_of(facts: ModelFacts) -> Any:
    if facts.capabilities.kind != "encoder":
        return getattr(transformers, _CLASSES[facts.capabilities.kind])
    for head, name in _HEAD_CLASSES.items():
        if head in facts.capabilities.heads:
            return getattr(transformers, name)
    raise ModelLoadFailed(f"{facts.ref.uri}: {facts.architecture} has no head that bakeoff asks")


def _check_weights(facts: ModelFacts, info: dict[str, Any], notices: list[Notice]) -> None:
    """Refuse a model of which the library had to draw a part at random."""
    embeds = "embed" in facts.capabilities.heads
    missing = sorted(
        key for key in info["missing_keys"] if not (embeds and _UNUSED_BY_EMBED.search(key))
    )
    if missing:
        raise ModelLoadFailed(
            f"{facts.ref.uri} lacks the weights {_listed(missing)} of {facts.architecture}: they "
            "would be random; the checkpoint is incomplete or is of another kind"
        )
    unused = sorted(info["unexpected_keys"])
    if unused and not embeds:
        text = f"weights of {facts.ref.uri} that {facts.architecture} has no place for: "
        notices.append(Notice("unused-weights", text + _listed(unused)))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _kept(config: transformers.GenerationConfig) -> transformers.GenerationConfig:
    said = {name: getattr(config, name, None) for name in sorted(KEPT)}
    return transformers.GenerationConfig(**{k: v for k, v in said.items() if v is not None})


def _translated(facts: ModelFacts, placement: Placement, error: Exception) -> BakeoffError:
    text, uri = str(error), facts.ref.uri
    short = "out of memory" in text or "can't allocate memory" in text
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or short:
        found = estimate(facts, room(placement))
        return OutOfMemory(
            f"memory ran out while {uri} was loaded, which takes about {found}; {advice(found)}"
        )
    if "dispatched on the CPU or the disk" in text:
        return OutOfMemory(
            f"{uri}: max_memory leaves too little for all of it, and quantised weights lie neither "
            "on disk nor on the CPU beside another device: raise max_memory, or drop device_map"
        )
    if getattr(error, "errno", None) == errno.ENOSPC or "No space left on device" in text:
        return ModelLoadFailed(
            f"the disk is full: {uri} keeps weights that do not fit in memory under BAKEOFF_HOME "
            f"({bakeoff_home()}): free some space, set BAKEOFF_HOME to a larger disk, or raise "
            "max_memory"
        )
    return ModelLoadFailed(f"{uri} cannot be loaded: {error}")
