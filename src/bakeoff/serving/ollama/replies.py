"""Outcomes as Ollama's clients read them. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from bakeoff.core.outputs import Usage
from bakeoff.serving.models import Known
from bakeoff.serving.tools.choosing import Tools

_NANO = 10**9


@dataclass(frozen=True, slots=True)
class Teller:
    """Writes the lines of one answer.

    Attributes:
        model: the name under which it was asked.
        kind: which route it is of.
        tools: that the request has, or None.
    """

    model: str
    kind: Literal["generate", "chat"]
    tools: Tools | None = None

    def piece(self, text: str) -> dict[str, Any]:
        """A piece of the text."""
        return {**self._top(text), "done": False}

    def calls(self, found: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Calls of tools: names, and arguments as JSON text."""
        made = self._top("")
        made["message"]["tool_calls"] = _calls(found)
        return {**made, "done": False}

    def last(
        self,
        text: str,
        reason: str,
        usage: Usage,
        seconds: Seconds,
        calls: Sequence[tuple[str, str]] = (),
    ) -> dict[str, Any]:
        """The end of the text, or all of it with its calls."""
        top = self._top(text)
        if calls:
            top["message"]["tool_calls"] = _calls(calls)
        return {
            **top,
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


def _calls(found: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {"function": {"name": name, "arguments": json.loads(arguments)}}
        for name, arguments in found
    ]


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long an answer took, and its first token."""

    total: float
    first: float = 0.0


_FAR = "9999-12-31T00:00:00Z"
"""When a model is unloaded that never is."""


def listed(known: Known) -> dict[str, Any]:
    """An entry of `/api/tags`."""
    return {
        "name": known.name,
        "model": known.name,
        "modified_at": _time(known.created),
        "size": known.entry.bytes,
        "digest": hashlib.sha256(known.facts.identity.encode()).hexdigest(),
        "details": details(known),
    }


def running(known: Known) -> dict[str, Any]:
    """An entry of `/api/ps`."""
    expires = _FAR if known.expires is None else _time(known.expires)
    return {**listed(known), "expires_at": expires, "size_vram": 0}


def details(known: Known) -> dict[str, Any]:
    """What kind of model it is."""
    family = _family(known)
    return {
        "parent_model": "",
        "format": "safetensors",
        "family": family,
        "families": [family],
        "parameter_size": "",
        "quantization_level": known.dtype,
    }


def _family(known: Known) -> str:
    return known.facts.family or known.facts.ref.scheme


def shown(known: Known) -> dict[str, Any]:
    """The reply of `/api/show`."""
    capabilities, family = known.facts.capabilities, _family(known)
    window = capabilities.context_length
    does = ["completion"] if capabilities.kind != "encoder" else []
    does += ["embedding"] if capabilities.embeddings else []
    # editors look for this word to learn that a model fills in
    suffix = "{{ .Prompt }}{{ .Suffix }}" if capabilities.fim_tokens else "{{ .Prompt }}"
    return {
        "modelfile": f"# served by bakeoff\nFROM {known.entry.name}\n",
        "parameters": "" if window is None else f"num_ctx {window}",
        "template": suffix,
        "details": details(known),
        "model_info": {
            "general.architecture": family,
            f"{family}.context_length": window,
        },
        "capabilities": [*does, *(["insert"] if capabilities.fim_tokens else [])],
        "modified_at": _time(known.created),
    }


def _time(seconds: float | None) -> str:
    """A time as clients parse it; None is now."""
    at = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return at.isoformat().replace("+00:00", "Z")
