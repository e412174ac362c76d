"""Which engines there are, which of them can be used here, and how the others are added."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.registry import Registry
from bakeoff.engines import ENGINES
from bakeoff.engines.route import engine_and_version

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Available:
    """An engine and whether it can be used.

    Attributes:
        name: as `engine:` says it.
        usable: whether models can be run with it now.
        version: of what it computes with; empty where that is not installed.
        note: what is missing and how to add it, or what there is to know.
    """

    name: str
    usable: bool
    version: str
    note: str = ""


class Tools(Protocol):
    """What an engine needs beside its packages."""

    def missing(self) -> str | None:
        """What is to be typed before any model can be run, or None."""

    def add(self, say: Say) -> str:
        """Build what is missing; a sentence about what there is then.

        Raises:
            BakeoffError: it could not be done.
        """

    def remove(self) -> bool:
        """Delete what `add` built; whether there was anything."""


TOOLS: Registry[Tools] = Registry("engine", {"openvino": "bakeoff.engines.openvino.tools:TOOLS"})
"""Engines with tools of their own."""


def available() -> list[Available]:
    """Every engine, in the order of the registry."""
    return [_look(name) for name in ENGINES]


def tools_of(name: str) -> Tools:
    """The tools of an engine.

    Raises:
        UnknownName: there is no such engine.
        UnsupportedOption: it comes with bakeoff, whole.
    """
    ENGINES.get(name)
    if name not in TOOLS:
        kept = ", ".join(TOOLS)
        raise UnsupportedOption(
            f"{name} needs nothing to be added; engines with tools of their own: {kept}",
            option="engine",
        )
    return TOOLS.get(name)


def _look(name: str) -> Available:
    try:
        version = engine_and_version(name)
    except importlib.metadata.PackageNotFoundError:
        return Available(name, False, "", f"pip install 'bakeoff[{name}]'")
    missing = TOOLS.get(name).missing() if name in TOOLS else None
    return Available(name, missing is None, version, missing or "")
