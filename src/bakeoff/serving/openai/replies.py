"""Outcomes become OpenAI's replies and events. Pure; a reply and its events say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bakeoff.core.codes import FinishReason
from bakeoff.core.outputs import Completion, TokenChunk, Usage
from bakeoff.serving.openai import logprobs
from bakeoff.serving.openai.logprobs import Pieces
from bakeoff.serving.wording import json_bytes

DONE = b"data: [DONE]\n\n"
_OBJECTS = {
    "chat": ("chat.completion", "chat.completion.chunk"),
    "text": ("text_completion", "text_completion"),
}


@dataclass(frozen=True, slots=True)
class Letterhead:
    """What every reply and event of one request begins with.

    Attributes:
        id: of the answer.
        kind: which route it is of.
        created: seconds since 1970.
        model: the name under which it was asked.
        fingerprint: what computed it.
    """

    id: str
    kind: Literal["chat", "text"]
    created: int
    model: str
    fingerprint: str

    def reply(self, choices: list[dict[str, Any]], usage: Usage) -> dict[str, Any]:
        """A whole answer."""
        return {**self._top(_OBJECTS[self.kind][0], choices), "usage": usage_object(usage)}

    def event(self, choices: list[dict[str, Any]], **more: Any) -> bytes:
        """A piece of an answer."""
        top = self._top(_OBJECTS[self.kind][1], choices)
        return b"data: " + json_bytes({**top, **more}) + b"\n\n"

    def _top(self, name: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": name,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "choices": choices,
        }


def usage_object(usage: Usage) -> dict[str, Any]:
    """Tokens as clients count them."""
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


def finish_name(finish: FinishReason) -> str:
    """As OpenAI calls it; a text that was cut off by its reader has no name there."""
    return "length" if finish is FinishReason.LENGTH else "stop"


def chat_choice(index: int, made: Completion, pieces: Pieces) -> dict[str, Any]:
    """One text of a chat."""
    told = None if made.logprobs is None else logprobs.chat(made.logprobs, pieces)
    return {
        "index": index,
        "message": {"role": "assistant", "content": made.text, "refusal": None},
        "logprobs": told,
        "finish_reason": finish_name(made.finish),
    }


@dataclass(frozen=True, slots=True)
class Echo:
    """The prompt that a completion repeats.

    Attributes:
        text: as it was sent, or as its tokens read.
        first: id of its first token, where log-probabilities are wanted.
    """

    text: str = ""
    first: int | None = None


def text_choice(index: int, made: Completion, pieces: Pieces, echo: Echo) -> dict[str, Any]:
    """One text of a completion."""
    told = None
    if made.logprobs is not None:
        entries = (*(made.prompt_logprobs or ()), *made.logprobs)
        # without the prompt's own entries, offsets count from where the new text begins
        offset = 0 if made.prompt_logprobs is not None else len(echo.text)
        told = logprobs.legacy(entries, echo.first, pieces, offset)
    return {
        "index": index,
        "text": echo.text + made.text,
        "logprobs": told,
        "finish_reason": finish_name(made.finish),
    }


@dataclass
class ChatEvents:
    """Turns chunks into the events of a chat: the role first, the reason last."""

    head: Letterhead
    usage: dict[str, Any] = field(default_factory=dict)
    _begun: set[int] = field(default_factory=set)

    def events(self, index: int, chunk: TokenChunk) -> Iterator[bytes]:
        """The events of one chunk."""
        if index not in self._begun:
            self._begun.add(index)
            yield self._event(index, {"role": "assistant", "content": ""}, None)
        if chunk.text:
            yield self._event(index, {"content": chunk.text}, None)
        if chunk.finish is not None:
            yield self._event(index, {}, finish_name(chunk.finish))

    def whole(self, index: int, made: Completion, pieces: Pieces) -> Iterator[bytes]:
        """The events of a text with log-probabilities, which comes in one piece."""
        yield self._event(index, {"role": "assistant", "content": ""}, None)
        told = chat_choice(index, made, pieces)["logprobs"]
        yield self._event(index, {"content": made.text}, None, told)
        yield self._event(index, {}, finish_name(made.finish))

    def _event(
        self, index: int, delta: dict[str, Any], finish: str | None, told: Any = None
    ) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": told, "finish_reason": finish}
        return self.head.event([choice], **self.usage)


@dataclass
class TextEvents:
    """Turns chunks into the events of a completion."""

    head: Letterhead
    echoes: Sequence[Echo]
    choices: int
    usage: dict[str, Any] = field(default_factory=dict)
    _begun: set[int] = field(default_factory=set)

    def events(self, index: int, chunk: TokenChunk) -> Iterator[bytes]:
        """The events of one chunk."""
        text = chunk.text
        if index not in self._begun:
            self._begun.add(index)
            text = self.echoes[index // self.choices].text + text
        if text or chunk.finish is not None:
            finish = None if chunk.finish is None else finish_name(chunk.finish)
            yield self._event(
                {"index": index, "text": text, "logprobs": None, "finish_reason": finish}
            )

    def whole(self, index: int, made: Completion, pieces: Pieces) -> Iterator[bytes]:
        """The event of a text with log-probabilities, which comes in one piece."""
        yield self._event(text_choice(index, made, pieces, self.echoes[index // self.choices]))

    def _event(self, choice: dict[str, Any]) -> bytes:
        return self.head.event([choice], **self.usage)
