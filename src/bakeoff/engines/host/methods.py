"""What may be asked of an engine in another process: all of the port, read from its definition."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from dataclasses import dataclass
from functools import cache
from inspect import isfunction
from types import MappingProxyType
from typing import Any, get_args, get_origin, get_type_hints

from bakeoff._version import __version__
from bakeoff.core.modelfacts import Capabilities, EngineInfo, ModelFacts
from bakeoff.core.ports import Engine
from bakeoff.core.rows import Notice
from bakeoff.engines.host.codec import fingerprint
from bakeoff.engines.options import EngineOptions

LOCAL = frozenset({"generate"})
"""Written over the others, and so the same on both sides."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The model that a host is to load, as `open_engine` is told."""

    name: str
    facts: ModelFacts
    options: EngineOptions
    why: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """What an engine says of itself once it is loaded; see `Engine`."""

    capabilities: Capabilities
    info: EngineInfo
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the port.

    Attributes:
        name: of the method.
        takes: name and type of each parameter, in order.
        gives: type of the result, or of each item where results come one by one.
        pulls: type of the requests that it takes one by one, or None.
        flows: whether results come one by one.
    """

    name: str
    takes: tuple[tuple[str, Any], ...]
    gives: Any
    pulls: Any = None
    flows: bool = False


@cache
def methods() -> MappingProxyType[str, Method]:
    """Name -> method, for all of the port."""
    found = {
        name: _method(name, function)
        for name, function in vars(Engine).items()
        if isfunction(function) and not name.startswith("_") and name not in LOCAL
    }
    return MappingProxyType(found)


@cache
def version() -> str:
    """What both ends must have in common to understand each other."""
    kinds = [Opening, Opened]
    for method in methods().values():
        kinds += [kind for _, kind in method.takes]
        kinds += [method.gives, method.pulls]
    return f"{__version__} {fingerprint(kinds)}"


def _method(name: str, function: Any) -> Method:
    hints = get_type_hints(function)
    gives = hints.pop("return")
    flows = get_origin(gives) is AsyncIterator
    pulls = _pulled(next(iter(hints.values()), None)) if flows else None
    return Method(
        name=name,
        takes=() if pulls is not None else tuple(hints.items()),
        gives=get_args(gives)[0] if flows else gives,
        pulls=pulls,
        flows=flows,
    )


def _pulled(kind: Any) -> Any:
    """The items of `Iterable[X] | AsyncIterable[X]`; None for any other type."""
    for part in get_args(kind):
        if get_origin(part) in (Iterable, AsyncIterable):
            return get_args(part)[0]
    return None
