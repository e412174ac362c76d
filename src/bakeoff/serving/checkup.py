"""`Checkup`: a short look at each model in the background, once the server takes requests.

What is wrong goes to the log in words, and to `/health` by its code: that route asks for no key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bakeoff.core.outputs import Completion
from bakeoff.core.requests import (
    GenerateRequest,
    GenerationParams,
    Message,
    Messages,
    Prompt,
    Source,
    Text,
)
from bakeoff.serving.log import LOG, told
from bakeoff.serving.models import ModelTable, Served

_TEXT = "Name three fruits."
_TOKENS = 8
_LEVELS = ("ok", "warning", "problem")


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that was found.

    Attributes:
        code: stable name.
        level: `ok`, `warning` or `problem`.
        text: for the log.
    """

    code: str
    level: str
    text: str


Examiner = Callable[[], Awaitable[Sequence[Found]]]
"""Looks at a model's files; loads nothing into this process."""


@dataclass
class Checkup:
    """What was found of each model.

    Attributes:
        examiners: name of a model -> what looks at its files.
        found: name -> what was found; a model is not in it before it was looked at.
    """

    examiners: dict[str, Examiner] = field(default_factory=dict)
    found: dict[str, tuple[Found, ...]] = field(default_factory=dict)

    async def run(self, models: ModelTable) -> None:
        """Look at all models, one after the other; those that are loaded write a short text."""
        for name, examine in self.examiners.items():
            found = [*await _carried_out(examine)]
            lease = models.at_once(name) if models.states()[name] == "loaded" else None
            if lease is not None:
                try:
                    found += await _carried_out(partial(_spoken, lease.served))
                finally:
                    lease.release()
            self.found[name] = tuple(found)
            for one in found:
                if one.level != "ok":
                    LOG.warning("self-check of %s: %s: %s", name, one.code, one.text)

    def said(self) -> dict[str, Any]:
        """For each model its worst level, or `waiting`, and the codes of what is wrong."""
        return {name: self._said(name) for name in self.examiners}

    def _said(self, name: str) -> dict[str, Any]:
        if name not in self.found:
            return {"status": "waiting", "codes": []}
        codes = [one.code for one in self.found[name] if one.level != "ok"]
        return {"status": _worst(self.found[name]), "codes": codes}


async def _carried_out(look: Callable[[], Awaitable[Sequence[Found]]]) -> Sequence[Found]:
    """What it finds; a check that breaks is a finding itself, and costs no request anything."""
    try:
        return await look()
    except Exception as error:  # a library, or a checkpoint's own code, may raise anything
        told(error)
        text = f"a part of the self-check broke: {type(error).__name__}"
        return [Found("check-failed", "warning", text)]


async def _spoken(served: Served) -> list[Found]:
    """Whether it writes a short text."""
    if not served.generates:
        return []
    request = GenerateRequest(
        id="self-check",
        prompt=_prompt(served),
        params=GenerationParams(max_new_tokens=_TOKENS, temperature=0.0, num_beams=1),
        lane="chat",
        cache_scope="self-check",
    )
    (made,) = await served.engine.generate([request])
    if not isinstance(made, Completion):
        return [Found("text-fails", "problem", f"it wrote no text: {made.message}")]
    if not made.text.strip():
        return [Found("text-blank", "warning", f"it answered {_TEXT!r} with a blank text")]
    return [Found("text", "ok", "it wrote a text")]


def _prompt(served: Served) -> Prompt:
    can = served.facts.capabilities
    if can.kind == "seq2seq":
        return Source(_TEXT)
    return Messages((Message("user", _TEXT),)) if can.chat_template else Text(_TEXT)


def _worst(found: Iterable[Found]) -> str:
    return max((one.level for one in found), key=_LEVELS.index, default="ok")
