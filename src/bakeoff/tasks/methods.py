"""The methods of plain values that templates may call, and what each of them runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2.runtime import LoopContext

from bakeoff.core.errors import TemplateFailed
from bakeoff.tasks.budget import current
from bakeoff.tasks.values import as_text, loops_over, weigh

_PIECE = 64
"""Bytes that one piece of a split text takes, at least."""
_LINE_BREAKS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_MAX_STRIPPED = 64
"""Characters that `strip` may be given; its cost is their number times the text's length."""

LOOP_VALUES = frozenset(
    "index index0 revindex revindex0 first last length depth depth0 previtem nextitem".split()
)


@dataclass(frozen=True, slots=True)
class Method:
    """A method that was looked up and not called yet; never a Python method."""

    owner: Any
    name: str

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        weigh((self.owner, list(args), kwargs) if self._plain else (list(args), kwargs))
        return methods_of(self.owner)[self.name](self.owner, *args, **kwargs)

    @property
    def _plain(self) -> bool:
        return isinstance(self.owner, (list, tuple, dict))


def methods_of(value: Any) -> Mapping[str, Callable[..., Any]]:
    """What may be called on a value, by name."""
    for kind, methods in _METHODS.items():
        if isinstance(value, kind):
            return methods
    return {}


def join(separator: str, values: Any) -> str:
    """The texts of the values with a separator between them."""
    texts = [as_text(value) for value in loops_over(values)]
    size = sum(map(sys.getsizeof, texts)) + sys.getsizeof(separator) * len(texts)
    _room(size)
    return separator.join(texts)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    """The text with every `old` as `new`."""
    found = text.count(old) if count < 0 else min(count, text.count(old))
    _room((len(text) + found * len(new)) * _width(text, new))
    return text.replace(old, new, count)


def strip(text: str, chars: str | None = None) -> str:
    """The text without blanks, or without these characters, at both ends."""
    return text.strip(_few(chars))


def split(text: str, sep: str | None = None, maxsplit: int = -1) -> list[str]:
    """The pieces between separators."""
    most = max(current().left // _PIECE, 0)
    asked = most if maxsplit < 0 else min(maxsplit, most)
    pieces = text.split(sep, asked)
    if asked == most and len(pieces) > most:
        raise TemplateFailed("the text has too many pieces to split: cut it first, source[:10000]")
    current().allocate(_PIECE * len(pieces))
    return pieces


def splitlines(text: str) -> list[str]:
    """The lines."""
    for _ in _LINE_BREAKS.finditer(text):
        current().step()
        current().allocate(_PIECE)
    return text.splitlines()


def _few(chars: str | None) -> str | None:
    if chars is not None and len(chars) > _MAX_STRIPPED:
        raise TemplateFailed(f"strip takes at most {_MAX_STRIPPED} characters")
    return chars


def _width(*texts: str) -> int:
    """Bytes a character, of the widest text: 1, 2 or 4, read from its size in memory."""
    return max(1 if t.isascii() else min(4, sys.getsizeof(t) // len(t)) for t in texts)


def _room(size: int) -> None:
    """Refuse before the text is made; what was made is counted afterwards."""
    if size > current().left:
        current().allocate(size)


def _same(name: str) -> Callable[..., Any]:
    """A method of `str` whose result is no longer than three times the text."""
    function = getattr(str, name)

    def run(text: str, *args: Any) -> Any:
        _room(sys.getsizeof(text))
        return function(text, *args)

    return run


_SIMPLE = (
    "capitalize casefold count endswith find index isalnum isalpha isdigit islower isspace "
    "istitle isupper lower partition removeprefix removesuffix startswith swapcase title upper"
)
_METHODS: Mapping[type, Mapping[str, Callable[..., Any]]] = {
    str: {
        **{name: _same(name) for name in _SIMPLE.split()},
        "join": join,
        "lstrip": lambda text, chars=None: text.lstrip(_few(chars)),
        "replace": replace,
        "rstrip": lambda text, chars=None: text.rstrip(_few(chars)),
        "split": split,
        "splitlines": splitlines,
        "strip": strip,
    },
    dict: {
        "get": lambda value, key, default=None: value.get(key, default),
        "items": lambda value: list(value.items()),
        "keys": lambda value: list(value.keys()),
        "values": lambda value: list(value.values()),
    },
    list: {"count": list.count, "index": list.index},
    tuple: {"count": tuple.count, "index": tuple.index},
    LoopContext: {"cycle": LoopContext.cycle, "changed": LoopContext.changed},
}
