"""What `bakeoff serve` is given becomes models to load and a server to run."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bakeoff.cli.loading import reference_of
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.route import Needs, Route, route
from bakeoff.serving.desk import Desk
from bakeoff.serving.models import Entry, ModelTable
from bakeoff.serving.options import ServeOptions
from bakeoff.serving.server import run
from bakeoff.settings import Settings


@dataclass(frozen=True, slots=True)
class Loading:
    """How all models are loaded.

    Attributes:
        values: fields of `LoadOptions` that have a flag of their own.
        options: further ones, as `NAME=VALUE`.
        max_model_len: most tokens that are read, or None for the model's own limit.
        threads: CPU threads, or None.
    """

    values: Mapping[str, Any]
    options: tuple[str, ...] = ()
    max_model_len: int | None = None
    threads: int | None = None


def entries_of(models: Sequence[str], names: Sequence[str], loading: Loading) -> list[Entry]:
    """The models to serve, described; nothing is loaded yet.

    Raises:
        CallerError: a reference, an option or a name is wrong.
        ModelError: a model does not exist or may not be read.
    """
    refs = [reference_of(text, loading.values, loading.options) for text in models]
    own = [_name(ref) for ref in refs]
    further = _further(names, own, models)
    return [
        _entry(name, ref, loading, further.get(name, ()))
        for name, ref in zip(own, refs, strict=True)
    ]


def keys_of(said: Sequence[str], file: Path | None) -> tuple[str, ...]:
    """All keys, from flags and file.

    Raises:
        InvalidRequest: the file holds none, or cannot be read.
    """
    if file is None:
        return tuple(said)
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidRequest(f"--api-key-file {str(file)!r} cannot be read: {problem}") from problem
    found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise InvalidRequest(f"--api-key-file {str(file)!r} holds no key: write one a line")
    return (*said, *found)


def start(entries: Sequence[Entry], options: ServeOptions) -> None:
    """Serve until a signal comes.

    Raises:
        BakeoffError: a model cannot be loaded, or the address cannot be bound.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s", force=True
    )
    logging.getLogger("bakeoff").setLevel(logging.INFO)
    names = [name for one in entries for name in (one.name, *one.aliases)]

    def ready(address: str) -> None:
        sys.stderr.write(f"serving {', '.join(names)} at {address}; Ctrl-C stops\n")
        sys.stderr.flush()

    asyncio.run(run(Desk(ModelTable(entries), options), ready))


def _name(ref: ModelRef) -> str:
    if ref.scheme == "fake":
        return ref.name.partition("?")[0]
    return ref.name if ref.scheme == "hf" else ref.short_name


def _further(
    names: Sequence[str], own: Sequence[str], models: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Name of a model -> its aliases."""
    found: dict[str, tuple[str, ...]] = {}
    for said in names:
        alias, equals, target = said.partition("=")
        if not equals and len(own) > 1:
            raise InvalidRequest(f"--name {said!r}: of which model? Write NAME=MODEL")
        known = dict(zip(models, own, strict=True)) | {name: name for name in own}
        name = known.get(target) if equals else own[0]
        if name is None or not alias:
            raise InvalidRequest(f"--name {said!r}: write NAME=MODEL; served: {', '.join(own)}")
        found[name] = (*found.get(name, ()), alias)
    return found


def _entry(name: str, ref: ModelRef, loading: Loading, aliases: tuple[str, ...]) -> Entry:
    facts = _bounded(describe(ref), loading.max_model_len)
    taken = _route(facts)
    facts = replace(facts, numerics=taken.numerics or facts.numerics)
    options = EngineOptions(threads=loading.threads or Settings.read().threads)
    return Entry(
        name=name,
        facts=facts,
        opener=partial(open_engine, taken.engine, facts, options, taken.why),
        describer=partial(describe, ref),
        aliases=aliases,
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
