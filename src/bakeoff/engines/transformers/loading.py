"""A described checkpoint becomes a model and its tokenizer in memory."""

from __future__ import annotations

import importlib
import json
import re
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

from bakeoff.core.errors import BakeoffError, ModelLoadFailed, OutOfMemory, UnsupportedOption
from bakeoff.core.ports import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.decoding import KEPT
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.pooling import Pooling, read_pooling
from bakeoff.engines.transformers.configkeys import unknown_keys
from bakeoff.engines.transformers.conversion import convert
from bakeoff.engines.transformers.devices import Placement, place
from bakeoff.engines.transformers.files import ModelFiles, locate
from bakeoff.engines.transformers.quiet import quiet

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
    """

    model: Any
    tokenizer: Any
    device: str
    dtype: str
    notices: tuple[Notice, ...]
    facts: ModelFacts | None = None
    pooling: Pooling = field(default_factory=Pooling)


def load_model(facts: ModelFacts, options: EngineOptions) -> Loaded:
    """Load weights and tokenizer; blocks until they are in memory.

    Configuration, tokenizer and weights come from one folder (of one commit, for a repository on
    the Hub); weights that the checkpoint lacks are an error, never drawn at random.

    Raises:
        ModelError: the model cannot be loaded.
        UnsupportedOption: the accelerator is not there, or the tokenizer has no slow version.
    """
    placement = place(facts.ref)
    if options.threads:
        torch.set_num_threads(options.threads)
    files = locate(facts, convert)
    notices: list[Notice] = []
    try:
        with quiet(notices):
            tokenizer = _tokenizer(facts, files)
            model = _model(facts, files, placement, notices)
            if "classify" in facts.capabilities.heads and model.config.pad_token_id is None:
                # a decoder with labels reads its last real token, which it finds by this id
                model.config.pad_token_id = tokenizer.pad_token_id
    except BakeoffError:
        _release(files)
        raise
    except Exception as error:  # whatever a library, or a checkpoint's own code, raises
        _release(files)
        raise _translated(facts, error) from error
    if files.lease is not None:
        weakref.finalize(model, files.lease.release)
    device = str(next(model.parameters()).device) if placement.spread else placement.device
    return Loaded(
        model=model,
        tokenizer=tokenizer,
        device=device,
        dtype=_dtype_name(facts, model),
        notices=tuple(dict.fromkeys(notices)),
        facts=facts,
        pooling=read_pooling(facts.ref.uri, files.model),
    )


def _release(files: ModelFiles) -> None:
    if files.lease is not None:
        files.lease.release()


def _remote(facts: ModelFacts, files: ModelFiles) -> dict[str, Any]:
    found: dict[str, Any] = {"trust_remote_code": facts.ref.trust_remote_code}
    if files.code_revision is not None:
        found["code_revision"] = files.code_revision
    return found


def _tokenizer(facts: ModelFacts, files: ModelFiles) -> Any:
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        str(files.tokenizer), use_fast=facts.ref.use_fast, **_remote(facts, files)
    )
    if not facts.ref.use_fast and tokenizer.is_fast:
        raise UnsupportedOption(
            f"use_fast is false, but {type(tokenizer).__name__} of {facts.ref.uri} has no version "
            f"in Python in transformers {transformers.__version__}: leave use_fast out",
            option="use_fast",
        )
    if tokenizer.chat_template is None:
        tokenizer.chat_template = _older_template(files.tokenizer)
    return tokenizer


def _older_template(folder: Path) -> str | None:
    """The template of `chat_template.json`, which the library reads for processors alone."""
    path = folder / "chat_template.json"
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8")).get("chat_template")
    return found if isinstance(found, str) else None


def _model(
    facts: ModelFacts, files: ModelFiles, placement: Placement, notices: list[Notice]
) -> Any:
    remote = _remote(facts, files)
    config = transformers.AutoConfig.from_pretrained(str(files.model), **remote)
    notices.extend(unknown_keys(config, files.model))
    model, info = _class_of(facts).from_pretrained(
        str(files.model),
        config=config,
        output_loading_info=True,
        **placement.arguments,
        **_quantised(facts, placement),
        **remote,
    )
    _check_weights(facts, info, notices)
    if not placement.spread and not _is_quantised(facts):
        model = model.to(placement.device)
    if files.adapter is not None:
        model = _adapted(model, files.adapter)
    if getattr(model, "generation_config", None) is not None:
        model.generation_config = _kept(model.generation_config)
    return model.eval()


def _class_of(facts: ModelFacts) -> Any:
    if facts.capabilities.kind != "encoder":
        return getattr(transformers, _CLASSES[facts.capabilities.kind])
    for head, name in _HEAD_CLASSES.items():
        if head in facts.capabilities.heads:
            return getattr(transformers, name)
    raise ModelLoadFailed(f"{facts.ref.uri}: {facts.architecture} has no head that bakeoff asks")


def _quantised(facts: ModelFacts, placement: Placement) -> dict[str, Any]:
    if not _is_quantised(facts):
        return {}
    config = transformers.BitsAndBytesConfig(
        load_in_4bit=facts.ref.load_in_4bit,
        load_in_8bit=facts.ref.load_in_8bit,
        bnb_4bit_quant_type="nf4",
    )
    whole = {} if placement.spread else {"device_map": {"": placement.device}}
    return {"quantization_config": config, **whole}


def _is_quantised(facts: ModelFacts) -> bool:
    return facts.ref.load_in_4bit or facts.ref.load_in_8bit


def _adapted(model: Any, folder: Path) -> Any:
    peft = importlib.import_module("peft")  # optional; `checks` has made sure that it is there
    return peft.PeftModel.from_pretrained(model, str(folder))


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


def _dtype_name(facts: ModelFacts, model: Any) -> str:
    if _is_quantised(facts):
        return "bnb-4bit" if facts.ref.load_in_4bit else "bnb-8bit"
    return str(model.dtype).removeprefix("torch.")


def _translated(facts: ModelFacts, error: Exception) -> BakeoffError:
    short = "out of memory" in str(error) or "can't allocate memory" in str(error)
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or short:
        return OutOfMemory(
            f"{facts.ref.uri} does not fit into memory: take a smaller torch_dtype, load_in_4bit "
            "or device_map: auto"
        )
    return ModelLoadFailed(f"{facts.ref.uri} cannot be loaded: {error}")
