"""`ModelTable`: the models of a server, under their names; loaded when they are asked for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.core.errors import InvalidRequest, ModelNotFound
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.registry import near_matches
from bakeoff.serving.keeper import LOADING, Keep, Keeper, Lease, stopping
from bakeoff.serving.problems import Refusal
from bakeoff.serving.slots import Entry, Served, Slot

__all__ = ["Entry", "Keep", "Known", "Lease", "ModelTable", "Served", "stopping"]


@dataclass(frozen=True, slots=True)
class Known:
    """A name under which a model can be asked.

    Attributes:
        name: the name.
        entry: the model.
        served: it, where it is loaded.
        created: since when it is known, in seconds since 1970.
        expires: when it will be unloaded if nobody asks, in seconds since 1970, or None.
    """

    name: str
    entry: Entry
    served: Served | None
    created: int
    expires: float | None = None

    @property
    def facts(self) -> ModelFacts:
        """What is known of it, loaded or not."""
        return self.entry.facts

    @property
    def dtype(self) -> str:
        """Precision of its weights, as far as it is known."""
        return self.facts.ref.torch_dtype if self.served is None else self.served.engine.info.dtype


class ModelTable:
    """Finds models by name and has them loaded. On one event loop only.

    Attributes:
        keeper: loads and unloads them.
    """

    def __init__(self, entries: Sequence[Entry], keep: Keep | None = None) -> None:
        """Nothing is loaded yet.

        Raises:
            InvalidRequest: two models have one name, or one cannot fit into the memory.
        """
        self._slots = {entry.name: Slot(entry) for entry in entries}
        self.keeper = Keeper(tuple(self._slots.values()), keep or Keep())
        self._first = entries[0].name
        self._since = int(time.time())
        self._names: dict[str, str] = {}
        for entry in entries:
            for name in (entry.name, *entry.aliases):
                if name in self._names:
                    raise InvalidRequest(f"two models are called {name!r}: give one another --name")
                self._names[name] = entry.name
        _check_room(entries, self.keeper.keep.memory)

    @property
    def loading(self) -> bool:
        """Whether a model that the server starts with is still to come."""
        return any(slot.starting for slot in self._slots.values())

    @property
    def served(self) -> tuple[Served, ...]:
        """Loaded models, in the order they were named."""
        return tuple(slot.served for slot in self._slots.values() if slot.served is not None)

    @property
    def waiting(self) -> int:
        """Requests that wait for a model to be loaded."""
        return sum(slot.waiting for slot in self._slots.values())

    def known(self) -> tuple[Known, ...]:
        """Every name, aliases included, loaded or not."""
        return tuple(self._known(name) for name in self._names)

    def about(self, name: str | None) -> Known:
        """What is known under that name, or of the first model; nothing is loaded for it.

        Raises:
            ModelNotFound: there is none; those that are there are named.
        """
        slot = self._slot(name)
        return self._known(slot.entry.name if name is None else name)

    def states(self) -> dict[str, str]:
        """For each model: `loaded`, `loading`, `failed` or `unloaded`."""
        return {name: slot.state for name, slot in self._slots.items()}

    def get(self, name: str | None) -> Served:
        """The loaded model of that name; without one, the first.

        Raises:
            ModelNotFound: there is none; those that are there are named.
            Refusal: it is not loaded.
        """
        slot = self._slot(name)
        if slot.served is None:
            raise Refusal(LOADING)
        return slot.served

    def named(self, name: str | None) -> str | None:
        """For clients that send a name of their own: one that is unknown is no name."""
        return name if name in self._names else None

    async def lease(self, name: str | None) -> Lease:
        """The model of that name, held; without a name, the first. Loads it where it is not.

        Raises:
            ModelNotFound: there is none; those that are there are named.
            Refusal: it cannot be loaded, or the server does that before it takes requests.
        """
        return await self.keeper.lease(self._slot(name))

    def at_once(self, name: str | None) -> Lease | None:
        """The same where nothing has to be waited for, else None.

        Raises:
            ModelNotFound: as in `lease`.
        """
        slot = self._slot(name)
        return self.keeper.hold(slot) if slot.ready else None

    def lost(self, served: Served) -> None:
        """Its engine has ended by itself."""
        self.keeper.lost(self._slots[served.name], served)

    async def load(self) -> None:
        """Load the first model and those that are pinned, one after the other.

        Raises:
            ModelError: one cannot be loaded.
        """
        chosen = [s for n, s in self._slots.items() if s.entry.pinned or n == self._first]
        for slot in chosen:
            slot.starting = True
        for slot in chosen:
            (await self.keeper.started(slot)).release()
            slot.starting = False

    async def close(self) -> None:
        """Close every engine."""
        await self.keeper.close()

    def _slot(self, name: str | None) -> Slot:
        target = self._first if name is None else self._names.get(name)
        if target is None:
            near = near_matches(name or "", tuple(self._names))
            hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(self._names)}"
            raise ModelNotFound(f"no model is served as {name!r}: {hint}")
        return self._slots[target]

    def _known(self, name: str) -> Known:
        slot, keep = self._slots[self._names[name]], self.keeper.keep
        created = self._since if slot.served is None else slot.served.created
        expires = None
        if keep.idle is not None and not slot.entry.pinned:
            quiet = 0.0 if slot.users else keep.clock() - slot.used
            expires = time.time() + keep.idle - quiet
        return Known(name, slot.entry, slot.served, created, expires)


def _check_room(entries: Sequence[Entry], memory: int | None) -> None:
    """Whether each model fits beside those that are pinned.

    Raises:
        InvalidRequest: one does not; the numbers are named.
    """
    pinned = sum(entry.bytes for entry in entries if entry.pinned)
    for entry in entries:
        needed = pinned + (0 if entry.pinned else entry.bytes)
        if memory is not None and needed > memory:
            beside = f" with the pinned ones ({pinned:,})" if pinned and not entry.pinned else ""
            raise InvalidRequest(
                f"--max-memory is {memory:,} bytes, but {entry.name} takes about "
                f"{needed:,}{beside}: raise it, or load the model smaller"
            )
