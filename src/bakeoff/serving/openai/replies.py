"""Outcomes become OpenAI's replies and events. Pure; a reply and its events say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bakeoff.core.codes import FinishReason
from bakeoff.core.outputs import Completion, TokenChunk, Usage
from bakeoff.serving.openai import logprobs
from bakeoff.serving.openai.calling import Calls
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


def finish_name(finish: FinishReason, *, called: bool = False) -> str:
    """As OpenAI calls it; a text that was cut off by its reader has no name there.

    Args:
        finish: why the text ended.
        called: whether it called a tool.
    """
    if finish is FinishReason.LENGTH:
        return "length"
    return "tool_calls" if called else "stop"


def loop_said(made: Completion | TokenChunk) -> dict[str, Any]:
    """What tells a text that was ended because it repeated itself from one that was too long."""
    return {"stop_reason": "loop"} if made.looped else {}


def chat_choice(
    index: int, made: Completion, pieces: Pieces, calls: Calls | None = None
) -> dict[str, Any]:
    """One text of a chat; `calls` reads what it calls."""
    message = {"content": made.text} if calls is None else calls.message(made.text)
    told = None if made.logprobs is None else logprobs.chat(made.logprobs, pieces)
    return {
        "index": index,
        "message": {"role": "assistant", **message, "refusal": None},
        "logprobs": told,
        "finish_reason": finish_name(made.finish, called="tool_calls" in message),
        **loop_said(made),
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
        **loop_said(made),
    }


@dataclass
class ChatEvents:
    """Turns chunks into the events of a chat: the role first, the reason last.

    Attributes:
        head: of every event.
        usage: what events carry beside their choices.
        calls: reads the calls of tools; None where the request has none.
    """

    head: Letterhead
    usage: dict[str, Any] = field(default_factory=dict)
    calls: Calls | None = None
    _begun: set[int] = field(default_factory=set)

    def events(self, index: int, chunk: TokenChunk, pieces: Pieces) -> Iterator[bytes]:
        """The events of one chunk; its log-probabilities go with the first that says anything."""
        if index not in self._begun:
            self._begun.add(index)
            yield self._event(index, {"role": "assistant", "content": ""}, None)
        told = logprobs.chat(chunk.logprobs, pieces) if chunk.logprobs else None
        deltas = self._deltas(index, chunk.text, ended=chunk.finish is not None)
        for delta in deltas or ([{"content": ""}] if told else []):
            yield self._event(index, delta, None, told)
            told = None
        if chunk.finish is not None:
            yield self._event(index, {}, self._finish(index, chunk.finish), more=loop_said(chunk))

    def _deltas(self, index: int, text: str, *, ended: bool) -> list[dict[str, Any]]:
        if self.calls is not None:
            return self.calls.deltas(index, text, ended=ended)
        return [{"content": text}] if text else []

    def _finish(self, index: int, finish: FinishReason) -> str:
        return finish_name(finish, called=self.calls is not None and self.calls.called(index))

    def _event(
        self,
        index: int,
        delta: dict[str, Any],
        finish: str | None,
        told: Any = None,
        more: dict[str, Any] | None = None,
    ) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": told, "finish_reason": finish}
        return self.head.event([choice | (more or {})], **self.usage)


@dataclass
class TextEvents:
    """Turns chunks into the events of a completion."""

    head: Letterhead
    echoes: Sequence[Echo]
    choices: int
    usage: dict[str, Any] = field(default_factory=dict)
    _begun: set[int] = field(default_factory=set)
    _offsets: dict[int, int] = field(default_factory=dict)

    def events(self, index: int, chunk: TokenChunk, pieces: Pieces) -> Iterator[bytes]:
        """The events of one chunk."""
        text = chunk.text
        if index not in self._begun:
            self._begun.add(index)
            text = self.echoes[index // self.choices].text + text
        told = self._told(index, chunk, pieces)
        if text or told or chunk.finish is not None:
            finish = None if chunk.finish is None else finish_name(chunk.finish)
            choice = {"index": index, "text": text, "logprobs": told, "finish_reason": finish}
            yield self._event(choice | loop_said(chunk))

    def _told(self, index: int, chunk: TokenChunk, pieces: Pieces) -> dict[str, Any] | None:
        """Log-probabilities of a chunk, the prompt's with the first; offsets go on counting."""
        prompt, echo = chunk.prompt_logprobs, self.echoes[index // self.choices]
        entries = (*(prompt or ()), *(chunk.logprobs or ()))
        if chunk.logprobs is None or not entries:
            return None
        offset = self._offsets.get(index, 0 if prompt is not None else len(echo.text))
        told = logprobs.legacy(entries, echo.first, pieces, offset)
        self._offsets[index] = offset + sum(map(len, told["tokens"]))
        return told

    def _event(self, choice: dict[str, Any]) -> bytes:
        return self.head.event([choice], **self.usage)
