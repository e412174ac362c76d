"""From a checkpoint's configuration to what it can do: kind, heads, labels, window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.core.errors import ModelLoadFailed, UnsupportedOption
from bakeoff.core.modelfacts import Head, ModelKind
from bakeoff.engines.checkpoint import Checkpoint

_CAN = (
    "bakeoff runs text generation (...ForCausalLM, ...ForConditionalGeneration), extractive "
    "answers (...ForQuestionAnswering), classification (...ForSequenceClassification) and "
    "embeddings (...Model, ...ForMaskedLM)"
)
_GENERATORS = ("ForCausalLM", "LMHeadModel", "ModelWithLMHead", "ForPrefixLM", "GenerationDecoder")
_SEQ2SEQ = ("ForConditionalGeneration", "MTModel", "ForTextToText", "EncoderDecoderModel")
_ANSWERS = ("ForQuestionAnswering", "ForQuestionAnsweringSimple")
_LABELS = ("ForSequenceClassification",)
_VECTORS = ("ForMaskedLM", "ForPreTraining", "EncoderModel", "Model", "SentenceTransformer")
_OTHER_INPUT = ("vision_config", "audio_config", "num_mel_bins", "image_size", "backbone_config")
_TEXT_TOO = frozenset({"gemma3", "gemma3n", "gemma4", "gemma4_unified"})
"""Model types that read images and also load as plain language models: their `...ForCausalLM`
entry in transformers 5.24 is the class with vision."""
_OFFSET_POSITIONS = frozenset(
    {
        "roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "longformer", "mpnet", "luke",
        "roberta-prelayernorm", "data2vec-text", "ibert", "esm", "xmod",
    }
)  # fmt: skip
"""Families whose positions begin at `pad_token_id + 1`, so that the table is longer than the
longest text (fairseq's numbering)."""
_LIMITS = (
    "max_position_embeddings", "n_positions", "max_sequence_length", "n_ctx", "max_seq_len",
    "seq_length",
)  # fmt: skip
_NO_LIMIT = 10**9
_WHY_NOT = "; this one reads images or sound"


@dataclass(frozen=True)
class Kind:
    """What a checkpoint is.

    Attributes:
        architecture: class name in the configuration.
        kind: decoder-only, encoder-decoder or encoder.
        heads: what an encoder answers.
    """

    architecture: str
    kind: ModelKind
    heads: frozenset[Head] = frozenset()


def kind_of(checkpoint: Checkpoint) -> Kind:
    """Kind and heads, from the class named in `architectures`, else in `auto_map`.

    Raises:
        UnsupportedOption: the architecture does nothing that bakeoff can ask for.
        ModelLoadFailed: the configuration names no architecture.
    """
    config = checkpoint.config
    name = _architecture(checkpoint)
    if checkpoint.embedding:
        return Kind(name, "encoder", frozenset({"embed"}))
    heads = _heads(name, labels_of(config))
    if heads:
        return _checked(checkpoint, Kind(name, "encoder", heads))
    both = bool(config.get("is_encoder_decoder"))
    if both and name.endswith((*_SEQ2SEQ, *_GENERATORS, "Model")):
        return _checked(checkpoint, Kind(name, "seq2seq"))
    if name.endswith(_GENERATORS) or (
        config.get("model_type") in _TEXT_TOO and name.endswith("ForConditionalGeneration")
    ):
        return Kind(name, "causal")
    if not both and name.endswith(_VECTORS):
        return _checked(checkpoint, Kind(name, "encoder", frozenset({"embed"})))
    if not both and name.endswith("ForConditionalGeneration") and not _other_input(config):
        return Kind(name, "seq2seq")  # some older checkpoints do not say is_encoder_decoder
    raise _unusable(checkpoint.name, name, _WHY_NOT if _other_input(config) else "")


def labels_of(config: Mapping[str, Any]) -> tuple[str, ...]:
    """`id2label` in the order of the outputs; `LABEL_0`, ... where the checkpoint names none."""
    names = config.get("id2label") or {}
    count = len(names) or int(config.get("num_labels") or 2)
    return tuple(str(names.get(str(i), f"LABEL_{i}")) for i in range(count))


def entailment_index(labels: tuple[str, ...]) -> int | None:
    """Which output says that the hypothesis follows, or None: this is no inference model."""
    return next((i for i, n in enumerate(labels) if n.lower().startswith("entail")), None)


def contradiction_index(labels: tuple[str, ...]) -> int | None:
    """Which output says that the hypothesis does not follow."""
    for i, name in enumerate(labels):
        if name.lower().startswith(("contra", "not_entail", "not entail", "non_entail")):
            return i
    entails = entailment_index(labels)
    return 1 - entails if entails is not None and len(labels) == 2 else None


def context_length(checkpoint: Checkpoint, kind: Kind) -> int | None:
    """The most tokens the model reads, or None where the checkpoint sets no limit.

    - Decoder-only: the first of `max_position_embeddings`, `n_positions`, `max_sequence_length`.
    - Encoder-decoder: the encoder's position table. T5 and its kin have none (relative
      positions): the tokenizer's `model_max_length` where it is below 10**9, else `n_positions`.
    - Encoder: the position table, less the offset of RoBERTa and its kin (`pad_token_id + 1`),
      and not above `max_seq_length` of a sentence-transformers model, which cuts there.
    """
    config = checkpoint.config
    if kind.kind == "causal":
        return _limit(config.get("text_config") or config)
    if "relative_attention_num_buckets" in config and config.get("model_type") != "mpnet":
        said = checkpoint.tokenizer.get("model_max_length")
        sane = isinstance(said, int) and 0 < said < _NO_LIMIT
        return said if sane else _limit(config)
    limit = _encoder_limit(config)
    cut = checkpoint.max_seq_length
    return min(filter(None, (limit, cut)), default=None)


def _architecture(checkpoint: Checkpoint) -> str:
    config = checkpoint.config
    named = config.get("architectures") or []
    if named:
        return str(named[0])
    auto = config.get("auto_map") or {}
    for key in sorted(auto, key=lambda k: k == "AutoModel"):  # a head says more than the bare model
        if key.startswith("AutoModel"):
            return str(key)
    if checkpoint.embedding:
        return "SentenceTransformer"
    if config.get("is_encoder_decoder"):
        return f"{config.get('model_type')}ForConditionalGeneration"
    raise ModelLoadFailed(
        f"{checkpoint.name}: config.json names no class under `architectures`: add it there, for "
        'example ["LlamaForCausalLM"]'
    )


def _heads(name: str, labels: tuple[str, ...]) -> frozenset[Head]:
    if name.endswith(_ANSWERS):
        return frozenset({"answer-span"})
    if name.endswith(_LABELS):
        pairs = entailment_index(labels) is not None
        return frozenset({"classify", "pair-classify"} if pairs else {"classify"})
    return frozenset()


def _checked(checkpoint: Checkpoint, kind: Kind) -> Kind:
    if _other_input(checkpoint.config):
        raise _unusable(checkpoint.name, kind.architecture, _WHY_NOT)
    return kind


def _other_input(config: Mapping[str, Any]) -> bool:
    return any(key in config for key in _OTHER_INPUT)


def _unusable(name: str, architecture: str, more: str = "") -> UnsupportedOption:
    return UnsupportedOption(
        f"{name} is a {architecture!r}: {_CAN}{more}; name another model", option="model"
    )


def _limit(config: Mapping[str, Any]) -> int | None:
    for key in _LIMITS:
        value = config.get(key)
        if isinstance(value, int) and 0 < value < _NO_LIMIT:
            return value
    return None


def _encoder_limit(config: Mapping[str, Any]) -> int | None:
    encoder = config.get("encoder")
    if isinstance(encoder, dict):
        return _encoder_limit(encoder)
    if "max_encoder_position_embeddings" in config:  # LED
        return int(config["max_encoder_position_embeddings"])
    limit = _limit(config)
    if limit is not None and config.get("model_type") in _OFFSET_POSITIONS:
        pad = config.get("pad_token_id")
        return limit - (1 if pad is None else int(pad)) - 1
    return limit
