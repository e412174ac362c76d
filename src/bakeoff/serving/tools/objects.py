"""JSON objects read character by character, and what of them is a call."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from bakeoff.serving.tools.forms import KEYS

_HEAD = re.compile(
    r'\{\s*"name"\s*:\s*(?P<name>"(?:[^"\\]|\\.)*")\s*,\s*"(?:' + "|".join(KEYS) + r')"\s*:\s*\{'
)


class Called(NamedTuple):
    """A call: the tool's name, and its arguments as JSON text of an object."""

    name: str
    arguments: str


@dataclass
class ObjectText:
    """The text of an object as far as it has come, from its first brace.

    Attributes:
        text: it.
        done: whether its last brace has come.
        name: of the tool, once its arguments have begun; None before, or in another order.
        arguments: the text of the arguments so far, which begins with `name`.
    """

    text: str = ""
    done: bool = False
    name: str | None = None
    arguments: str = ""
    _depth: int = 0
    _inside: bool = False
    _escaped: bool = False

    def push(self, character: str) -> None:
        """Take the next character."""
        self.text += character
        inner = self._depth >= 2
        if self._inside:
            self._inside = self._escaped or character != '"'
            self._escaped = character == "\\" and not self._escaped
        elif character == '"':
            self._inside = True
        elif character in "{[":
            self._depth += 1
            if character == "{" and self._depth == 2 and (head := _HEAD.fullmatch(self.text)):
                self.name, inner = json.loads(head["name"]), True
        elif character in "}]":
            self._depth -= 1
            self.done = self._depth <= 0
        if self.name is not None and inner:
            self.arguments += character


def called(text: str, tools: Collection[str] | None) -> Called | None:
    """The call that an object is, or None where it is none.

    Args:
        text: of the object.
        tools: names of the tools that count; None for any.
    """
    try:
        said = json.loads(text, parse_constant=_refuse)
        name = said["name"]
        arguments = _arguments(said)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(name, str) or not name or (tools is not None and name not in tools):
        return None
    return Called(name, _text(arguments))


def _arguments(said: dict[str, Any]) -> dict[str, Any]:
    """An object; some models write its text, or nothing for none."""
    found: Any = next((said[key] for key in KEYS if key in said), {})
    if isinstance(found, str):
        found = json.loads(found, parse_constant=_refuse)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise TypeError
    return found


def _text(arguments: dict[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which only an escape can write
        return json.dumps(arguments)
    return text


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
