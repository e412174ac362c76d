"""Outcomes as llama.cpp's clients read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.core.codes import FinishReason
from bakeoff.core.outputs import Completion, TokenChunk, Usage
from bakeoff.core.requests import GenerationParams
from bakeoff.serving.openai.logprobs import Pieces, chat
from bakeoff.serving.wording import json_bytes


@dataclass(frozen=True, slots=True)
class Told:
    """What every reply to one request says.

    Attributes:
        model: that answered.
        prompt: as it was sent, where it was a text.
        params: how the text was made.
    """

    model: str
    prompt: str
    params: GenerationParams

    def reply(self, index: int, text: str, ended: Ended) -> dict[str, Any]:
        """A whole text, or the last event of a stream."""
        usage = ended.usage
        return {
            "index": index,
            "content": text,
            "tokens": list(ended.ids),
            "id_slot": -1,
            "stop": True,
            "model": self.model,
            "prompt": self.prompt,
            "generation_settings": self.params.said(),
            "tokens_predicted": usage.completion,
            "tokens_evaluated": usage.prompt,
            "tokens_cached": usage.cached,
            "truncated": usage.cut > 0,
            "stop_type": ended.kind,
            "stopping_word": ended.word,
            "timings": {"prompt_n": usage.prompt - usage.cached, "predicted_n": usage.completion},
        }


@dataclass(frozen=True, slots=True)
class Ended:
    """How a text came to its end.

    Attributes:
        kind: `limit`, `word` or `eos`.
        word: the stop string.
        usage: tokens.
        ids: the new tokens, where they were asked for.
    """

    kind: str
    word: str
    usage: Usage
    ids: tuple[int, ...] = ()


def ended(finish: FinishReason, usage: Usage, decoded: str, params: GenerationParams) -> Ended:
    """What ended a text; `decoded` are all its tokens, the stop string among them."""
    if finish is FinishReason.LENGTH:
        return Ended("limit", "", usage)
    found = [(at, word) for word in params.stop or () if (at := decoded.find(word)) >= 0]
    return Ended("word", min(found)[1], usage) if found else Ended("eos", "", usage)


def event(index: int, chunk: TokenChunk, told: dict[str, Any]) -> bytes:
    """A piece of a text; `told` is what `told_of` says of it."""
    piece = {"index": index, "content": chunk.text, "tokens": list(chunk.token_ids), "stop": False}
    return b"data: " + json_bytes({**piece, **told}) + b"\n\n"


def last_event(reply: dict[str, Any]) -> bytes:
    """The event that ends a stream; nothing follows it."""
    return b"data: " + json_bytes(reply) + b"\n\n"


def told_of(made: Completion | TokenChunk, pieces: Pieces) -> dict[str, Any]:
    """The log-probabilities of a text or of a piece of one, where they were asked for."""
    if made.logprobs is None:
        return {}
    return {"completion_probabilities": _probabilities(made, pieces)}


def _probabilities(made: Completion | TokenChunk, pieces: Pieces) -> list[dict[str, Any]]:
    """Of each new token, and of the best in its place."""
    told = chat(made.logprobs or (), pieces)["content"]
    ids: Sequence[Any] = made.logprobs or ()
    found = []
    for entry, one in zip(told, ids, strict=True):
        tops = zip(entry["top_logprobs"], one.top, strict=True)
        top = [{"id": token, **alternative} for alternative, (token, _) in tops]
        found.append({"id": one.id, **entry, "top_logprobs": top})
    return found
