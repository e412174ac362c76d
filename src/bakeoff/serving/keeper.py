"""`Keeper`: which models are loaded: those that are asked for, as far as there is memory.

What is idle is unloaded, the least recently used first, when it has been idle for long or when
memory is wanted for another. A model that a request holds stays until the request is over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass

from bakeoff.core.errors import BakeoffError, CallerError, EngineClosed, OutOfMemory
from bakeoff.serving.log import LOG, told
from bakeoff.serving.problems import Problem, Refusal
from bakeoff.serving.slots import Entry, Served, Slot

LOADING = Problem(503, "Loading model", "model_loading", retry_after=5)
_AGAIN = 5.0
"""Seconds in which a load that failed is not tried again."""
_PAUSE = 1.0
"""Seconds between two looks for idle models, at most."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How long models stay loaded.

    Attributes:
        idle: seconds without a request after which a model is unloaded, or None for never.
        memory: most bytes that all loaded models may take together, or None for no limit.
        clock: seconds that only go up.
    """

    idle: float | None = None
    memory: int | None = None
    clock: Callable[[], float] = time.monotonic


class Lease:
    """A model that stays loaded until `release`, which may be called twice."""

    def __init__(self, slot: Slot, served: Served, clock: Callable[[], float]) -> None:
        self.served = served
        self._slot: Slot | None = slot
        self._clock = clock

    def release(self) -> None:
        """The request is over."""
        slot, self._slot = self._slot, None
        if slot is not None:
            slot.let_go(self._clock())


class Keeper:
    """Loads and unloads models. On one event loop only.

    Attributes:
        keep: how long they stay.
        loads, unloads: how often that was done.
    """

    def __init__(self, slots: Sequence[Slot], keep: Keep) -> None:
        self.keep = keep
        self.loads = self.unloads = 0
        self._slots = tuple(slots)
        self._line = asyncio.Lock()  # one at a time makes room; loading itself is not in line
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def hold(self, slot: Slot) -> Lease:
        """Hold a model that is ready."""
        return Lease(slot, slot.hold(), self.keep.clock)

    async def lease(self, slot: Slot) -> Lease:
        """Hold a model; loads it where it is not.

        Raises:
            Refusal: it cannot be loaded, or the server does that before it takes requests.
        """
        if slot.ready:
            return self.hold(slot)
        if slot.starting:
            raise Refusal(LOADING)
        if slot.fault is not None and self.keep.clock() < slot.fault[1]:
            raise _refusal(slot, slot.fault[0])
        try:
            return await self.started(slot)
        except Exception as error:
            if self._closed:
                raise
            raise _refusal(slot, error) from error

    async def started(self, slot: Slot) -> Lease:
        """The same, with whatever the engine raises.

        Raises:
            Exception: it cannot be loaded.
        """
        self._begin(slot)
        return Lease(slot, await slot.wait(), self.keep.clock)

    async def tend(self) -> None:
        """Unload what has been idle for long; goes on until it is cancelled."""
        while self.keep.idle is not None:
            await asyncio.sleep(min(self.keep.idle / 4, _PAUSE))
            await self.sweep()

    async def sweep(self) -> None:
        """Unload what has been idle for long by now."""
        if self.keep.idle is None:
            return
        async with self._line:
            for slot in self._slots:
                if slot.idle and slot.used <= self.keep.clock() - self.keep.idle:
                    await self._unload(slot)

    def lost(self, slot: Slot, served: Served) -> None:
        """An engine has ended by itself: who asks from now on gets a new one."""
        if slot.served is served and not slot.leaving:
            LOG.error("%s: its engine has ended; the next request loads it anew", served.name)
            slot.leaving = True
            self._do(self._forget(slot, served))

    async def close(self) -> None:
        """Close every engine; what is being loaded is given up."""
        self._closed = True
        loading = [slot.loading for slot in self._slots if slot.loading is not None]
        for task in (*loading, *self._tasks):
            task.cancel()
        await asyncio.gather(*loading, *self._tasks, return_exceptions=True)
        for slot in self._slots:
            slot.fail(stopping(), self.keep.clock())
        there = [slot.served for slot in self._slots if slot.served is not None]
        for slot in self._slots:
            slot.served = None
        await asyncio.gather(*(one.engine.close() for one in there))

    # loading

    def _begin(self, slot: Slot) -> None:
        if slot.loading is None:
            slot.loading = asyncio.create_task(self._load(slot))

    async def _load(self, slot: Slot) -> None:
        try:
            async with self._line:
                if not slot.waiting:  # all of them went away
                    return
                if slot.served is not None:
                    await self._unload(slot)
                await self._make_room(slot.entry)
                slot.loads = True
            served = await self._opened(slot.entry)
        except Exception as error:  # whatever a library raises costs this model alone
            told(error)
            if not slot.starting:  # else the server says it and ends
                LOG.error("%s cannot be loaded: %s", slot.entry.name, _said(error))
            slot.fail(error, self.keep.clock() + _AGAIN)
        else:
            self.loads += 1
            slot.admit(served, self.keep.clock())
        finally:
            slot.loads = False
            slot.loading = None

    async def _opened(self, entry: Entry) -> Served:
        """Load it; where memory runs out, idle models make room one after the other."""
        while True:
            try:
                return await Served.of(entry)
            except OutOfMemory:
                async with self._line:
                    victim = next(self._by_age(idle=True), None)
                    if victim is None:
                        raise
                    await self._unload(victim)

    async def _make_room(self, entry: Entry) -> None:
        """Unload others until it fits; a model that requests hold is waited for."""
        while self.keep.memory is not None and self._taken() + entry.bytes > self.keep.memory:
            victim = next(self._by_age(idle=True), None) or next(self._by_age(idle=False), None)
            others = [s.loading for s in self._slots if s.loads and s.loading is not None]
            if victim is not None:
                await self._unload(victim)
            elif others:
                await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            else:
                raise OutOfMemory(f"{entry.name} does not fit beside the models that are pinned")

    def _taken(self) -> int:
        return sum(s.entry.bytes for s in self._slots if s.served is not None or s.loads)

    def _by_age(self, idle: bool) -> Iterator[Slot]:
        """Loaded models that may go, the least recently used first."""
        found = [s for s in self._slots if s.ready and not s.entry.pinned]
        return iter(sorted((s for s in found if s.idle or not idle), key=lambda s: s.used))

    # unloading

    async def _forget(self, slot: Slot, served: Served) -> None:
        async with self._line:
            if slot.served is served:
                await self._unload(slot)

    async def _unload(self, slot: Slot) -> None:
        try:
            await slot.unload()
        except Exception as error:  # an engine that cannot close costs nobody else anything
            told(error)
        self.unloads += 1
        LOG.info("%s is unloaded", slot.entry.name)
        if slot.waiting:
            self._begin(slot)

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def stopping() -> EngineClosed:
    """What a request gets that comes, or is cut, while the server stops."""
    return EngineClosed("the server is shutting down: try another one, or again later")


def _refusal(slot: Slot, error: Exception) -> Refusal:
    """A model that cannot be loaded, as the request hears of it."""
    status = 400 if isinstance(error, CallerError) else 503
    code = error.code if isinstance(error, BakeoffError) else "model_load_failed"
    return Refusal(Problem(status, f"{slot.entry.name} cannot be loaded: {_said(error)}", code))


def _said(error: Exception) -> str:
    return error.message if isinstance(error, BakeoffError) else "the server's log has the details"
