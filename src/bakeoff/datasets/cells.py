"""Cells as text, and the way into cells that hold objects (`translation.en`, `answers.text`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.datasets.jsonvalues import BadJson, decode, kind_of

Path = tuple[str, ...]
"""A column, and the keys that lead on from it."""


class NotText(ValueError):
    """A cell holds a list or an object where a text is due."""


def text_of(value: Any) -> str | None:
    """A scalar as text: a text as it is, true and false, numbers as written; None stays None.

    Raises:
        NotText: it is a list or an object.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise NotText(f"{kind_of(value)} where a text is due")


def is_number(value: Any) -> bool:
    """Whether a cell holds a number, or a list of nothing but numbers; true and false are none."""
    if isinstance(value, list):
        return bool(value) and all(map(is_number, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def texts_of(value: Any) -> tuple[str, ...]:
    """A scalar, or a list of scalars, as texts; null gives none.

    Raises:
        NotText: it is an object, or a list that holds lists or objects.
    """
    values = value if isinstance(value, list) else [value]
    return tuple(text for text in map(text_of, values) if text is not None)


def listed_texts(value: Any) -> tuple[str, ...]:
    """A list, or a text that is a JSON list, as texts; None gives none.

    Raises:
        NotText: it is neither.
    """
    if isinstance(value, str):
        try:
            value, end = decode(value.strip())
        except BadJson:
            end = -1
        if end < 0 or not isinstance(value, list):
            raise NotText('a text where a list is due, such as ["one", "two"]')
    elif value is not None and not isinstance(value, list):
        raise NotText(f"{kind_of(value)} where a list is due")
    return texts_of(value)


def follow(cells: Mapping[str, Any], path: Path) -> Any:
    """What a path leads to; through a list of objects it gives a list; None where it ends early."""
    value = cells.get(path[0])
    for key in path[1:]:
        value = _step(value, key)
    return value


def _step(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list):
        return [item.get(key) for item in value if isinstance(item, dict)]
    return None


def inner_keys(value: Any) -> tuple[str, ...]:
    """Keys of an object, or of the first object of a list."""
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), None)
    return tuple(value) if isinstance(value, dict) else ()
