"""The models that `bakeoff serve` is given become entries, which are loaded when asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from bakeoff.cli.loading import reference_of
from bakeoff.core.errors import BakeoffError, InvalidRequest, ModelError
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.ports import Engine
from bakeoff.engines import describe, open_engine
from bakeoff.engines.footprint import estimate
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.route import Needs, Route, route
from bakeoff.serving.models import Entry

_OTHER_BASE = "adapter-base"


class Opens(Protocol):
    """Loads a model with the engine of that name; `open_engine`, or another with its signature."""

    def __call__(
        self, name: str, facts: ModelFacts, options: EngineOptions, why: str
    ) -> Awaitable[Engine]:
        """Raises a `ModelError` for a model that cannot be loaded."""


@dataclass(frozen=True, slots=True)
class Loading:
    """How all models are loaded.

    Attributes:
        values: fields of `LoadOptions` that have a flag of their own.
        options: further ones, as `NAME=VALUE`.
        max_model_len: most tokens that are read, or None for the model's own limit.
        engine: resources of each engine.
        sized: whether it matters how much memory each model takes.
        opens: loads a model.
    """

    values: Mapping[str, Any]
    options: tuple[str, ...] = ()
    max_model_len: int | None = None
    engine: EngineOptions = field(default_factory=EngineOptions)
    sized: bool = False
    opens: Opens = open_engine


@dataclass(frozen=True, slots=True)
class Named:
    """What is said about models by their names.

    Attributes:
        names: further names, as NAME or NAME=MODEL.
        adapters: PEFT weights under names of their own, as NAME=PATH.
        pinned: models that are never unloaded.
    """

    names: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()


def entries_of(models: Sequence[str], named: Named, loading: Loading) -> list[Entry]:
    """The models to serve, described; nothing is loaded yet.

    Raises:
        CallerError: a reference, an option or a name is wrong.
        ModelError: a model does not exist or may not be read.
    """
    refs = [reference_of(text, loading.values, loading.options) for text in models]
    entries = [_entry(_name(ref), ref, loading) for ref in refs]
    entries += [_over(said, models, loading) for said in named.adapters]
    own = [entry.name for entry in entries]
    known = dict(zip(models, own, strict=False)) | {name: name for name in own}
    further = _further(named.names, own, known)
    pinned = {_target(f"--pin {said!r}", said, known) for said in named.pinned}
    return [
        replace(one, aliases=further.get(one.name, ()), pinned=one.name in pinned)
        for one in entries
    ]


def is_named(adapter: str) -> bool:
    """Whether `--adapter` gives weights a name of their own: NAME=PATH."""
    name, equals, path = adapter.partition("=")
    return bool(equals and name and path) and "/" not in name and ":" not in name


def _name(ref: ModelRef) -> str:
    if ref.scheme == "fake":
        return ref.name.partition("?")[0]
    return ref.name if ref.scheme == "hf" else ref.short_name


def _further(
    names: Sequence[str], own: Sequence[str], known: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Name of a model -> its aliases."""
    found: dict[str, tuple[str, ...]] = {}
    for said in names:
        alias, equals, target = said.partition("=")
        if not equals and len(own) > 1:
            raise InvalidRequest(f"--name {said!r}: of which model? Write NAME=MODEL")
        if not alias:
            raise InvalidRequest(f"--name {said!r}: write NAME=MODEL")
        name = _target(f"--name {said!r}", target, known) if equals else own[0]
        found[name] = (*found.get(name, ()), alias)
    return found


def _target(flag: str, said: str, known: Mapping[str, str]) -> str:
    name = known.get(said)
    if name is None:
        there = ", ".join(dict.fromkeys(known.values()))
        raise InvalidRequest(f"{flag}: there is no model {said!r}; served: {there}")
    return name


def _over(said: str, models: Sequence[str], loading: Loading) -> Entry:
    """A model of its own: the base that these PEFT weights were made for, with them laid over it.

    Raises:
        InvalidRequest: it cannot be told over which model they go.
        ModelError: there are no such weights.
    """
    name, _, path = said.partition("=")
    unnamed = loading.values.get("adapter") or ()
    values = {**loading.values, "adapter": (*unnamed, path)}
    refs = [reference_of(text, values, loading.options) for text in models]
    if len(refs) == 1:
        return _entry(name, refs[0], loading)
    fitting = [ref for ref in refs if _fits(ref)]
    if len(fitting) != 1:
        which = "none" if not fitting else f"{len(fitting)}"
        raise InvalidRequest(
            f"--adapter {said!r}: its {which} of the models that are served is named by it as its "
            "base; serve the base alone"
        )
    return _entry(name, fitting[0], loading)


def _fits(ref: ModelRef) -> bool:
    """Whether the weights say that they were made for this model."""
    try:
        facts = describe(ref)
    except ModelError:
        raise
    except BakeoffError:  # made for another kind of model
        return False
    return all(notice.code != _OTHER_BASE for notice in facts.notices)


def _entry(name: str, ref: ModelRef, loading: Loading) -> Entry:
    facts = _bounded(describe(ref), loading.max_model_len)
    taken = _route(facts)
    facts = replace(facts, numerics=taken.numerics or facts.numerics)
    weighs = loading.sized and ref.scheme in ("hf", "file")
    return Entry(
        name=name,
        facts=facts,
        opener=partial(loading.opens, taken.engine, facts, loading.engine, taken.why),
        describer=partial(describe, ref),
        bytes=estimate(facts).total_bytes if weighs else 0,
    )


def _route(facts: ModelFacts) -> Route:
    """The engine that can do most: what a request will ask for is not known yet."""
    generates = facts.capabilities.kind != "encoder"
    needs = Needs(logprobs=generates, likelihood=facts.capabilities.likelihood)
    return route(facts, needs if facts.ref.engine == "auto" else None)


def _bounded(facts: ModelFacts, most: int | None) -> ModelFacts:
    own = facts.capabilities.context_length
    if most is None:
        return facts
    if own is not None and most > own:
        raise InvalidRequest(f"--max-model-len {most}: {facts.ref.uri} reads at most {own} tokens")
    return replace(facts, capabilities=replace(facts.capabilities, context_length=most))
