"""`Registry[T]`: name -> object, loaded on first use, with near matches for a wrong name."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator
from typing import Generic, TypeVar, cast

from bakeoff.core.errors import UnknownName

T = TypeVar("T")


def near_matches(name: str, known: list[str] | tuple[str, ...]) -> list[str]:
    """Up to three known names that resemble `name`, best first; case is ignored."""
    folded = {k.casefold(): k for k in known}
    hits = difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)
    return [folded[h] for h in hits]


def unknown(kind: str, name: str, known: list[str] | tuple[str, ...]) -> UnknownName:
    """The error for a name that is not among `known`."""
    near = near_matches(name, known)
    hint = f"did you mean {' or '.join(repr(n) for n in near)}? " if near else ""
    listed = ", ".join(sorted(known)) or "none"
    return UnknownName(f"unknown {kind} {name!r}: {hint}known: {listed}", name=name, near=near)


class Registry(Generic[T]):
    """Names and the objects behind them.

    A target is written `"module:attribute"` and imported only when it is asked for, so that the
    menu costs nothing.
    """

    def __init__(self, kind: str, targets: dict[str, str]) -> None:
        """`kind` is what an entry is called in error messages, for example "task"."""
        self.kind = kind
        self._targets = dict(targets)

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._targets))

    def __contains__(self, name: object) -> bool:
        return name in self._targets

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def get(self, name: str) -> T:
        """The object behind `name`.

        Raises:
            UnknownName: there is no such entry; the message lists near matches and all names.
        """
        target = self._targets.get(name)
        if target is None:
            raise unknown(self.kind, name, self.names())
        module, _, attribute = target.partition(":")
        return cast(T, getattr(importlib.import_module(module), attribute))
