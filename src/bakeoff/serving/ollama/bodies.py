"""Bodies of Ollama's routes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from bakeoff.core.requests import Grammar
from bakeoff.serving.body import EMPTY, NOT_SET, Body
from bakeoff.serving.openai.bodies import ChatMessage, Sampling
from bakeoff.serving.openai.formats import Wanted, wanted
from bakeoff.serving.spelling import LlamaDecoding
from bakeoff.serving.tools.bodies import ToolBody

NAMES = {
    "max_tokens": "options.num_predict",
    "repetition_penalty": "options.repeat_penalty",
    "stop": "options.stop",
    "suffix": "suffix",
    "guided_json": "format",
}
"""OpenAI's field -> the same here."""


class Options(LlamaDecoding):
    """`options`: how to decode."""

    refused: ClassVar[dict[str, Any]] = {
        "mirostat": (None, 0),
        "typical_p": (None, 1, 1.0),
        "tfs_z": (None, 1, 1.0),
    }

    num_predict: int | None = Field(None, ge=-2)

    def sampling(self) -> Sampling:
        """The same as OpenAI's clients would say it."""
        return self.said(self.num_predict)


class Asking(Body):
    """What `/api/generate` and `/api/chat` have in common."""

    refused: ClassVar[dict[str, Any]] = {
        "images": EMPTY,
        "template": EMPTY,
        "context": EMPTY,
        "think": NOT_SET,
        "logprobs": NOT_SET,
        "top_logprobs": (None, 0),
    }

    model: str
    stream: bool | None = None
    options: Options | None = None
    keep_alive: Any = None
    format: dict[str, Any] | str | None = None

    def wanted(self) -> Wanted | None:
        """How the text has to look; None where any will do.

        Raises:
            CallerError: see `formats.wanted`.
        """
        if self.format == "json":
            return Wanted(Grammar("json_object"), "format")
        found = wanted({"guided_json": self.format})
        return None if found is None else Wanted(found.grammar, "format")

    def decoding(self) -> Options:
        """The options; none is the same as empty ones."""
        return self.options or Options()


class GenerateBody(Asking):
    """`POST /api/generate`."""

    prompt: str | None = None
    suffix: str | None = None
    system: str | None = None
    raw: bool | None = None


class Turn(ChatMessage):
    """A turn of a conversation."""

    refused: ClassVar[dict[str, Any]] = {"images": EMPTY}

    tool_name: str | None = None


class ChatBody(Asking):
    """`POST /api/chat`."""

    messages: list[Turn] = Field(default_factory=list)
    tools: list[ToolBody] | None = None


class ShowBody(Body):
    """`POST /api/show`."""

    model: str | None = None
    name: str | None = None


class EmbedBody(Body):
    """`POST /api/embed`."""

    refused: ClassVar[dict[str, Any]] = {"dimensions": (None, 0), "truncate": (None, False)}

    model: str
    input: str | list[str]


class OldEmbedBody(Body):
    """`POST /api/embeddings`."""

    model: str
    prompt: Annotated[str, Field(max_length=2**22)]
