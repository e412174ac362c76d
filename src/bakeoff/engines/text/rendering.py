"""A chat template rendered without transformers, so that it can be tried out before it loads.

The sandbox has what transformers 5 offers to templates. Prompts themselves are rendered by the
tokenizer; this is for `study` alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bakeoff.engines.text.chat import ChatRules, Render, Turns, study


def tried_out(template: str, special: Mapping[str, str]) -> ChatRules:
    """What a chat template needs done to a conversation, found before its tokenizer is loaded.

    Args:
        template: its text; empty for none.
        special: special tokens by name, `bos_token` -> `<s>`.
    """
    if not template:
        return ChatRules()
    return study(renderer(template, special), template, special.get("bos_token", ""))


def renderer(template: str, special: Mapping[str, str]) -> Render:
    """How a template renders; one with a fault in its grammar raises when it is asked."""
    compiled: list[jinja2.Template] = []

    def render(turns: Turns, opened: bool) -> str:
        if not compiled:
            compiled.append(_environment().from_string(template))
        return compiled[0].render(
            messages=turns, tools=None, documents=None, add_generation_prompt=opened, **special
        )

    return render


class _Generation(Extension):
    """`{% generation %}` marks what the assistant wrote; nothing of it shows."""

    tags = {"generation"}  # noqa: RUF012 - the name and type are Jinja's

    def parse(self, parser: Any) -> jinja2.nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


def _environment() -> ImmutableSandboxedEnvironment:
    made = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    made.filters["tojson"] = _json
    offered: dict[str, Callable[..., Any]] = {
        "raise_exception": _refuse,
        "strftime_now": lambda form: datetime.now().strftime(form),
    }
    made.globals.update(offered)
    return made


def _json(value: Any, **options: Any) -> str:
    return json.dumps(value, **{"ensure_ascii": False, **options})


def _refuse(message: str) -> None:
    raise jinja2.TemplateError(message)
