"""Strict JSON: no NaN, no repeated keys, numbers that keep the digits they were written with."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


class BadJson(ValueError):
    """Text is not strict JSON.

    Attributes:
        at: place in the text, from 0, or None where the decoder does not say.
        cut: whether the text may simply have ended too early.
    """

    def __init__(self, message: str, at: int | None = None, cut: bool = False) -> None:
        super().__init__(message)
        self.at = at
        self.cut = cut


class WrittenFloat(float):
    """A float that is shown as it was written, for example 1.10 or 12345678901234567890.5."""

    __slots__ = ("_written",)
    _written: str

    def __new__(cls, written: str) -> WrittenFloat:
        """`written` is a JSON number."""
        number = super().__new__(cls, written)
        number._written = written
        return number

    def __str__(self) -> str:
        return self._written

    def __reduce__(self) -> tuple[type[WrittenFloat], tuple[str]]:
        return WrittenFloat, (self._written,)


def _float(written: str) -> float:
    number = float(written)
    if math.isinf(number):
        raise BadJson(f"the number {written[:40]} is too large")
    return number if repr(number) == written else WrittenFloat(written)


def _constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is not JSON: write null, or a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise BadJson(f"the key {twice!r} stands twice in one object: rename or remove one")
    return made


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
# The longest token that the decoder judges as a whole: -Infinity, and an escape \uXXXX\uXXXX.
_TOKEN = 16


def decode(text: str, at: int = 0) -> tuple[Any, int]:
    """One value that begins at `at`, and the place behind it.

    Raises:
        BadJson: there is no strict JSON value there.
    """
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text) - _TOKEN or error.msg.startswith("Unterminated")
        raise BadJson(error.msg, error.pos, cut) from error
    except RecursionError as error:
        raise BadJson("lists or objects are nested too deeply") from error
    except BadJson:
        raise
    except ValueError as error:  # Python's limit on the digits of one integer
        raise BadJson(f"a number is too long: {error}") from error


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for kind, name in ((dict, "an object"), (list, "a list"), (str, "a text")):
        if isinstance(value, kind):
            return name
    return "a number"
