"""What is known of a model before and after its weights are loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerationParams
from bakeoff.core.rows import Notice

ModelKind = Literal["causal", "seq2seq", "encoder"]
Head = Literal["answer-span", "classify", "pair-classify", "embed"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do. Callers branch on this, never on a class or a model's name.

    Attributes:
        kind: decoder-only, encoder-decoder or encoder.
        heads: what an encoder answers; empty for the others.
        context_length: most tokens the model reads (decoder-only: prompt and answer together),
            or None where the checkpoint sets no limit.
        chat_template: whether conversations can be rendered.
        likelihood: whether `score` works.
        embeddings: whether `predict(Embed)` works.
        fim_tokens: whether the tokenizer has fill-in-the-middle tokens.
        labels: an encoder's label names in the order of its outputs.
        language_codes: languages that the tokenizer has tokens for, as it spells them.
        targets_only: whether those tokens name the target language alone (Marian's `>>fra<<`);
            the source language is then not told.
    """

    kind: ModelKind
    heads: frozenset[Head] = frozenset()
    context_length: int | None = None
    chat_template: bool = False
    likelihood: bool = False
    embeddings: bool = False
    fim_tokens: bool = False
    labels: tuple[str, ...] = ()
    language_codes: tuple[str, ...] = ()
    targets_only: bool = False


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """The languages that a translation model was made for.

    Attributes:
        source, target: as the checkpoint spells them; may be a group of languages (`roa`).
        origin: where it says so, for example `its tokenizer_config.json`.
    """

    source: str
    target: str
    origin: str


@dataclass(frozen=True, slots=True)
class ChatFacts:
    """What a checkpoint's chat template does with a conversation, found by rendering some.

    Attributes:
        system: whether it has a place for a system prompt; where not, the engine puts the system
            prompt before the first user's turn.
        error: why it renders no user's turn at all; empty where it does.
        tools: in which form it has the model call tools: `hermes`, `llama3`, `mistral`, or
            `unknown`; empty where it has no place for tools.
    """

    system: bool = True
    error: str = ""
    tools: str = ""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known about a model before its weights are loaded.

    Attributes:
        ref: the reference with every default resolved (revision pinned to a commit, ...).
        identity: repository and commit, or a hash of weight, config and tokenizer files.
        capabilities: what it can do.
        architecture: class name in the checkpoint's config, or the engine's name.
        family: `model_type` of the checkpoint's config, for example `t5`; empty without.
        defaults: the checkpoint's own decoding settings.
        settings: names of what the checkpoint asks of an engine beyond them: generation settings
            without a field in `GenerationParams`, see `engines.decoding.further_settings`.
        origins: setting -> where it came from, for example
            `task_specific_params.summarization`.
        prefix: text that the checkpoint wants before the source; empty without.
        numerics: `exact` where the text equals plain transformers', else engine and version.
        reads_column: a column that replaces the source (`baseline://column/NAME`), or None.
        pair: the one pair of languages that a translation model was made for, or None.
        chat: how the chat template takes conversations.
        notices: warnings that the report shows.
    """

    ref: ModelRef
    identity: str
    capabilities: Capabilities
    architecture: str = ""
    family: str = ""
    defaults: GenerationParams = field(default_factory=GenerationParams)
    settings: tuple[str, ...] = ()
    origins: dict[str, str] = field(default_factory=dict)
    prefix: str = ""
    numerics: str = "exact"
    reads_column: str | None = None
    pair: LanguagePair | None = None
    chat: ChatFacts = field(default_factory=ChatFacts)
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What runs, for the report.

    Attributes:
        name: engine.
        version: of the library behind it.
        device: `cpu`, `cuda:0`, ...
        dtype: precision of the weights as loaded, for example `float32` or `bnb-4bit`.
        why: one sentence: why this engine was taken.
    """

    name: str
    version: str
    device: str
    dtype: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class TokenizerFacts:
    """What clients that count tokens on their own side ask of a tokenizer.

    Attributes:
        vocabulary: how many token ids the model takes.
        bos, eos, pad: special tokens as they are spelled, or None.
        chat_template: its text, or None.
        fill_ends: tokens that end what `Engine.fill` asks for.
    """

    vocabulary: int
    bos: str | None = None
    eos: str | None = None
    pad: str | None = None
    chat_template: str | None = None
    fill_ends: tuple[int, ...] = ()
