"""`ModelTable`: the models of a server, under their names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.core.errors import EngineClosed, InvalidRequest, ModelNotFound
from bakeoff.core.modelfacts import ModelFacts, TokenizerFacts
from bakeoff.core.ports import Engine
from bakeoff.core.registry import near_matches
from bakeoff.serving.problems import Problem, Refusal

Opener = Callable[[], Awaitable[Engine]]
Describer = Callable[[tuple[str, ...]], ModelFacts]
_LOADING = Problem(503, "Loading model", "model_loading", retry_after=5)
_NAMES_KEPT = 2**16
_TASKS_KEPT = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A model that is to be served.

    Attributes:
        name: under which it is served.
        facts: known before it is loaded.
        opener: loads it.
        describer: describes it for a task, by the keys that its checkpoint may have for that.
        aliases: further names.
    """

    name: str
    facts: ModelFacts
    opener: Opener
    describer: Describer
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Served:
    """A loaded model.

    Attributes:
        name: under which it is served.
        facts: known before it was loaded.
        engine: runs it.
        tokenizer: what clients ask of it.
        describer: as in `Entry`.
        created: when it was loaded, in seconds since 1970.
    """

    name: str
    facts: ModelFacts
    engine: Engine
    tokenizer: TokenizerFacts
    describer: Describer
    created: int
    _pieces: dict[int, str] = field(default_factory=dict, repr=False)
    _tasks: dict[tuple[str, ...], ModelFacts] = field(default_factory=dict, repr=False)

    @property
    def window(self) -> int | None:
        """Most tokens it reads, or None."""
        return self.engine.capabilities.context_length

    @property
    def generates(self) -> bool:
        """Whether it writes text."""
        return self.engine.capabilities.kind != "encoder"

    @property
    def fingerprint(self) -> str:
        """What computes: changes where texts may change."""
        info = self.engine.info
        return f"{info.name}-{info.version}-{info.dtype}".replace(" ", "-")

    def described(self, hints: tuple[str, ...]) -> ModelFacts:
        """The facts for a task; reads files the first time."""
        found = self._tasks.get(hints)
        if found is None:
            if len(self._tasks) > _TASKS_KEPT:  # clients choose the languages
                self._tasks.clear()
            found = self._tasks[hints] = self.describer(hints)
        return found

    async def pieces(self, ids: set[int]) -> Mapping[int, str]:
        """The text of each of these tokens; asked of the engine once."""
        if len(self._pieces) > _NAMES_KEPT:
            self._pieces.clear()
        known = {token: self._pieces[token] for token in ids if token in self._pieces}
        new = sorted(ids - known.keys())
        if not new:
            return known
        asked = dict(zip(new, await self.engine.pieces(new), strict=True))
        self._pieces.update(asked)
        return known | asked


class ModelTable:
    """Loads models and finds them by name."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """Nothing is loaded yet.

        Raises:
            InvalidRequest: two models have one name.
        """
        self._entries = tuple(entries)
        self._served: dict[str, Served] = {}
        self._names: dict[str, str] = {}
        for entry in entries:
            for name in (entry.name, *entry.aliases):
                if name in self._names:
                    raise InvalidRequest(f"two models are called {name!r}: give one another --name")
                self._names[name] = entry.name

    @property
    def loading(self) -> bool:
        """Whether a model is still to come."""
        return len(self._served) < len(self._entries)

    @property
    def served(self) -> tuple[Served, ...]:
        """Loaded models, in the order they were named."""
        return tuple(self._served[one.name] for one in self._entries if one.name in self._served)

    def names(self) -> dict[str, Served]:
        """Every name of a loaded model, aliases included."""
        return {
            name: self._served[target]
            for name, target in self._names.items()
            if target in self._served
        }

    def get(self, name: str | None) -> Served:
        """The model of that name; without one, the only model or the first.

        Raises:
            ModelNotFound: there is none; those that are there are named.
            Refusal: it is being loaded.
        """
        target = self._entries[0].name if name is None else self._names.get(name)
        if target is None:
            near = near_matches(name or "", tuple(self._names))
            hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(self._names)}"
            raise ModelNotFound(f"no model is served as {name!r}: {hint}")
        if target not in self._served:
            raise Refusal(_LOADING)
        return self._served[target]

    def named(self, name: str | None) -> Served:
        """The same for clients that send a name of their own: one that is unknown is no name."""
        return self.get(name if name in self._names else None)

    async def load(self) -> None:
        """Load all, one after the other.

        Raises:
            ModelError: one cannot be loaded.
        """
        for entry in self._entries:
            engine = await entry.opener()
            self._served[entry.name] = Served(
                name=entry.name,
                facts=entry.facts,
                engine=engine,
                tokenizer=await engine.tokenizer(),
                describer=entry.describer,
                created=int(time.time()),
            )

    async def close(self) -> None:
        """Close every engine."""
        served, self._served = self.served, {}
        await asyncio.gather(*(one.engine.close() for one in served))


def stopping() -> EngineClosed:
    """What a request gets that comes, or is cut, while the server stops."""
    return EngineClosed("the server is shutting down: try another one, or again later")
