"""Outcomes as Ollama's clients read them. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from bakeoff.core.outputs import Usage
from bakeoff.serving.models import Served

_NANO = 10**9


@dataclass(frozen=True, slots=True)
class Teller:
    """Writes the lines of one answer.

    Attributes:
        model: the name under which it was asked.
        kind: which route it is of.
    """

    model: str
    kind: Literal["generate", "chat"]

    def piece(self, text: str) -> dict[str, Any]:
        """A piece of the text."""
        return {**self._top(text), "done": False}

    def last(self, text: str, reason: str, usage: Usage, seconds: Seconds) -> dict[str, Any]:
        """The end of the text, or all of it."""
        return {
            **self._top(text),
            "done": True,
            "done_reason": reason,
            "total_duration": int(seconds.total * _NANO),
            "load_duration": 0,
            "prompt_eval_count": usage.prompt,
            "prompt_eval_duration": int(seconds.first * _NANO),
            "eval_count": usage.completion,
            "eval_duration": int((seconds.total - seconds.first) * _NANO),
        }

    def _top(self, text: str) -> dict[str, Any]:
        top: dict[str, Any] = {"model": self.model, "created_at": _time(None)}
        if self.kind == "chat":
            return {**top, "message": {"role": "assistant", "content": text}}
        return {**top, "response": text}


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long an answer took, and its first token."""

    total: float
    first: float = 0.0


def listed(name: str, served: Served) -> dict[str, Any]:
    """An entry of `/api/tags` and `/api/ps`."""
    return {
        "name": name,
        "model": name,
        "modified_at": _time(served.created),
        "size": 0,
        "digest": hashlib.sha256(served.facts.identity.encode()).hexdigest(),
        "details": details(served),
    }


def details(served: Served) -> dict[str, Any]:
    """What kind of model it is."""
    family = served.facts.family or served.engine.info.name
    return {
        "parent_model": "",
        "format": "safetensors",
        "family": family,
        "families": [family],
        "parameter_size": "",
        "quantization_level": served.engine.info.dtype,
    }


def shown(served: Served) -> dict[str, Any]:
    """The reply of `/api/show`."""
    capabilities = served.engine.capabilities
    family = served.facts.family or served.engine.info.name
    does = ["completion"] if served.generates else []
    does += ["embedding"] if capabilities.embeddings else []
    # editors look for this word to learn that a model fills in
    suffix = "{{ .Prompt }}{{ .Suffix }}" if capabilities.fim_tokens else "{{ .Prompt }}"
    return {
        "modelfile": f"# served by bakeoff\nFROM {served.name}\n",
        "parameters": "" if served.window is None else f"num_ctx {served.window}",
        "template": suffix,
        "details": details(served),
        "model_info": {
            "general.architecture": family,
            f"{family}.context_length": served.window,
        },
        "capabilities": [*does, *(["insert"] if capabilities.fim_tokens else [])],
        "modified_at": _time(served.created),
    }


def _time(seconds: int | None) -> str:
    """A time as clients parse it; None is now."""
    at = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return at.isoformat().replace("+00:00", "Z")
