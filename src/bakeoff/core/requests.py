"""What a caller asks of an engine. Frozen; nothing here knows a job, a data set or HTTP."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

from bakeoff.core.errors import InvalidRequest

Lane = Literal["edit", "chat", "batch"]
LANES: tuple[Lane, ...] = get_args(Lane)
"""Best first."""
Truncate = Literal["refuse", "cut"]
GrammarKind = Literal["json_object", "json_schema", "regex", "grammar"]

DEFAULT_MAX_NEW_TOKENS = 256
"""New tokens where neither the spec nor the checkpoint says how many."""
DEFAULT_HYPOTHESIS = "This example is {}."
"""What zero-shot classification asks an NLI model; `{}` is the label."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that an assistant's turn asks for.

    Attributes:
        id: by which a later turn gives its result.
        name: of the tool.
        arguments: JSON text, nearly always of an object.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        content: the text.
        tool_calls: that an assistant's turn asks for.
        tool_call_id: the call whose result a tool's turn holds; empty for none.
        name: of the tool whose result it is, where it is said; else empty.
    """

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call.

    Attributes:
        name: by which it is called.
        text: JSON text of what the chat template shows the model: `{"type": "function",
            "function": {"name", "description", "parameters"}}`.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt taken as it stands; no chat template is applied."""

    text: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """A prompt as token ids; no special token is added."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Messages:
    """A conversation, rendered by the checkpoint's own chat template and tokenised once.

    Attributes:
        messages: its turns.
        tools: that the template tells the model of.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """The encoder's input of an encoder-decoder model, prefix included.

    Attributes:
        text: what the encoder reads.
        source_language: tag as the tokenizer knows it (`en_XX`, `eng_Latn`), or None.
        target_language: likewise; forces the decoder's first token where the model has one.
    """

    text: str
    source_language: str | None = None
    target_language: str | None = None


Prompt = Text | Tokens | Messages | Source


@dataclass(frozen=True, slots=True)
class GenerationParams:
    """How to decode. None means "not said here".

    The names and meanings are those of Hugging Face's GenerationConfig, except for
    `frequency_penalty` and `presence_penalty` (OpenAI: subtracted from the logits per earlier
    occurrence in the *generated* text), `stop`, `stop_ids`, `seed` and `n`.
    """

    max_new_tokens: int | None = None
    min_new_tokens: int | None = None
    temperature: float | None = None
    """0 is greedy; above 0 samples."""
    top_p: float | None = None
    top_k: int | None = None
    """0 switches it off."""
    min_p: float | None = None
    num_beams: int | None = None
    early_stopping: bool | Literal["never"] | None = None
    length_penalty: float | None = None
    repetition_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    no_repeat_ngram_size: int | None = None
    stop: tuple[str, ...] | None = None
    """Strings that end the text; never shown, not even in part."""
    stop_ids: tuple[int, ...] | None = None
    """Token ids that end the text, in addition to the end-of-sequence set."""
    logit_bias: tuple[tuple[int, float], ...] | None = None
    """Pairs (token id, added to its logit)."""
    seed: int | None = None
    n: int | None = None
    """How many texts; above 1 gives one completion for each choice."""

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if value is None:
                continue
            wrong_type = isinstance(value, bool) or not isinstance(value, (int, float))
            if wrong_type or not low <= value <= high:
                raise InvalidRequest(f"{name} is {value!r}: it must be from {low} to {high}")
        if self.stop is not None and any(s == "" for s in self.stop):
            raise InvalidRequest("stop holds an empty string: every stop string needs a character")

    def over(self, base: GenerationParams) -> GenerationParams:
        """These values, and `base` wherever nothing is said here."""
        said = {f.name: v for f in fields(self) if (v := getattr(self, f.name)) is not None}
        return replace(base, **said)

    def said(self) -> dict[str, Any]:
        """The fields that hold a value, for JSON."""
        return {k: v for k, v in asdict(self).items() if v is not None}

    @property
    def sampled(self) -> bool:
        """Whether tokens are drawn; greedy and beams are not."""
        return (self.temperature or 0.0) > 0.0


_RANGES: tuple[tuple[str, float, float], ...] = (
    ("max_new_tokens", 0, 10**9),
    ("min_new_tokens", 0, 10**9),
    ("temperature", 0.0, 100.0),
    ("top_p", 0.0, 1.0),
    ("top_k", 0, 10**9),
    ("min_p", 0.0, 1.0),
    ("num_beams", 1, 1024),
    ("length_penalty", -1000.0, 1000.0),
    ("repetition_penalty", 1e-6, 1000.0),
    ("frequency_penalty", -1000.0, 1000.0),
    ("presence_penalty", -1000.0, 1000.0),
    ("no_repeat_ngram_size", 0, 10**9),
    ("seed", 0, 2**63 - 1),
    ("n", 1, 1024),
)


@dataclass(frozen=True, slots=True)
class Grammar:
    """What a text must look like.

    Attributes:
        kind: `json_object`: any JSON object. `json_schema`: JSON that a schema allows. `regex`:
            a text that a regular expression matches as a whole. `grammar`: a grammar as
            llama.cpp (GBNF) or Lark writes it.
        text: the schema as JSON text, the expression or the grammar; empty for `json_object`.
    """

    kind: GrammarKind
    text: str = ""


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    """One text to generate.

    Attributes:
        id: unique among the requests in flight; results carry it.
        prompt: what the model reads.
        params: how to decode.
        truncate: what happens to a prompt that does not fit: `refuse` fails the request with
            `PromptTooLong`, `cut` keeps what fits (encoder input and plain text lose their end;
            nothing else is cut) and records the tokens lost in `Usage.cut`.
        logprobs: how many alternatives to return for each new token, or None.
        prompt_logprobs: likewise for the prompt.
        grammar: what the text must look like, or None. A text that ends at its limit of tokens
            may be the beginning of such a one.
        adapter: name of the adapter to use, or None.
        lane: scheduling class.
        deadline: seconds from submission after which the request fails, or None.
        cache_scope: requests share a prefix cache only within one scope.
    """

    id: str
    prompt: Prompt
    params: GenerationParams = field(default_factory=GenerationParams)
    truncate: Truncate = "refuse"
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    grammar: Grammar | None = None
    adapter: str | None = None
    lane: Lane = "batch"
    deadline: float | None = None
    cache_scope: str = ""


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """How likely is `continuation` after `context`?

    Attributes:
        id: unique among the requests in flight.
        context: what stands before; may be a conversation.
        continuation: the text that is scored; not empty.
        truncate: as in `GenerateRequest`; `cut` drops the context's beginning.
    """

    id: str
    context: Text | Tokens | Messages | Source
    continuation: str
    truncate: Truncate = "refuse"


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Extractive question answering: find the answer to `question` in `context`."""

    question: str
    context: str
    allow_no_answer: bool = True


@dataclass(frozen=True, slots=True)
class Classify:
    """Sequence classification of a text, or of a pair."""

    text: str
    pair: str | None = None


@dataclass(frozen=True, slots=True)
class ZeroShot:
    """Classification over labels the model never saw, by natural-language inference.

    Attributes:
        template: hypothesis with `{}` where the label goes.
        multi_label: score each label on its own instead of one distribution over all.
    """

    text: str
    labels: tuple[str, ...]
    template: str = DEFAULT_HYPOTHESIS
    multi_label: bool = False


@dataclass(frozen=True, slots=True)
class Embed:
    """A vector for a text: mean of the last hidden states over real tokens, length 1."""

    text: str


@dataclass(frozen=True, slots=True)
class PredictRequest:
    """One question to an encoder model."""

    id: str
    ask: AnswerSpan | Classify | ZeroShot | Embed
    truncate: Truncate = "refuse"


EngineRequest = GenerateRequest | ScoreRequest | PredictRequest
