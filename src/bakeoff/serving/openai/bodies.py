"""Bodies of the OpenAI routes, with the further fields that other servers of that format take."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from bakeoff.serving.body import EMPTY, NEVER, NOT_SET, Body
from bakeoff.serving.openai.formats import FIELDS, Wanted, wanted
from bakeoff.serving.tools.bodies import CallBody, Choice, ToolBody

TokenId = Annotated[int, Field(ge=0, lt=2**31)]
_ANY_CHAT: dict[str, Any] = {
    "best_of": (None, 1),
    "use_beam_search": NOT_SET,
    "ignore_eos": NOT_SET,
    "include_stop_str_in_output": NOT_SET,
    "skip_special_tokens": (None, True),
    "truncate_prompt_tokens": NEVER,
    "allowed_token_ids": EMPTY,
    "bad_words": EMPTY,
    "prompt_logprobs": NEVER,
    "return_token_ids": NOT_SET,
    "return_tokens_as_token_ids": NOT_SET,
}


class StreamOptions(Body):
    """What a stream carries besides its texts."""

    include_usage: bool | None = None


class Sampling(Body):
    """What completions and chat have in common; null is the same as absent."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=0)
    min_tokens: int | None = Field(None, ge=0, le=10**9)
    temperature: float | None = Field(None, ge=0, le=100)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=-1, le=10**9)
    min_p: float | None = Field(None, ge=0, le=1)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    repetition_penalty: float | None = Field(None, gt=0, le=1000)
    num_beams: int | None = Field(None, ge=1, le=64)
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[TokenId] | None = None
    logit_bias: dict[TokenId, Annotated[float, Field(ge=-100, le=100)]] | None = None

    @field_validator("stop", mode="before")
    @classmethod
    def _stop_is_text(cls, value: Any) -> Any:
        texts = value if isinstance(value, list) else [value]
        if value is not None and any(not isinstance(one, str) or not one for one in texts):
            raise ValueError("has to be a text, or a list of texts, and none of them empty")
        return value


class Formatted(Sampling):
    """What says how a text has to look: OpenAI's field, and those of vLLM and llama.cpp."""

    response_format: dict[str, Any] | None = None
    structured_outputs: dict[str, Any] | None = None
    guided_json: dict[str, Any] | str | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    grammar: str | None = None
    json_schema: dict[str, Any] | None = None

    def wanted(self) -> Wanted | None:
        """How the text has to look; None where any text will do.

        Raises:
            CallerError: a field is wrong, or two of them contradict each other.
        """
        return wanted({name: getattr(self, name) for name in FIELDS})


class CompletionBody(Formatted):
    """`POST /v1/completions`."""

    refused: ClassVar[dict[str, Any]] = {
        **_ANY_CHAT,
        "add_special_tokens": (None, True),
    }

    prompt: str | list[str] | list[TokenId] | list[list[TokenId]]
    suffix: str | None = None
    echo: bool | None = None
    logprobs: int | None = Field(None, ge=0)

    @field_validator("prompt", mode="before")
    @classmethod
    def _prompt_has_one_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            return value
        if not isinstance(value, list) or not value:
            raise ValueError("has to be a text, a list of texts, or a list of (lists of) token ids")
        kinds = {type(one) for one in value}
        if kinds not in ({str}, {int}, {list}):
            raise ValueError("mixes texts, token ids and lists: all entries must be of one kind")
        if kinds == {list} and any(not one for one in value):
            raise ValueError("holds an empty list: every prompt needs a token")
        return value


class Part(Body):
    """A part of a message's content."""

    type: str
    text: str | None = None


class ChatMessage(Body):
    """A turn of a conversation."""

    refused: ClassVar[dict[str, Any]] = {"function_call": NEVER, "audio": NEVER}

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    tool_calls: list[CallBody] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class ChatBody(Formatted):
    """`POST /v1/chat/completions`."""

    refused: ClassVar[dict[str, Any]] = {
        **_ANY_CHAT,
        "functions": EMPTY,
        "function_call": (None, "none", "auto"),
        "modalities": (None, ["text"]),
        "audio": NEVER,
        "web_search_options": NEVER,
        "chat_template": EMPTY,
        "chat_template_kwargs": EMPTY,
        "documents": EMPTY,
        "add_generation_prompt": (None, True),
        "continue_final_message": NOT_SET,
        "add_special_tokens": NOT_SET,
        "echo": NOT_SET,
    }

    messages: list[ChatMessage] = Field(min_length=1)
    tools: list[ToolBody] | None = None
    tool_choice: Choice | None = None
    parallel_tool_calls: bool | None = None
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0)
