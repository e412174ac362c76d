"""`Gate`: how many requests an engine has at a time, and who waits for a place."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bakeoff.core.errors import ServerBusy
from bakeoff.core.requests import LANES, Lane

_FAIR = 4
"""Every so many places, the one who waits longest is let in, whatever the lane."""


class Gate:
    """Places for requests. On one event loop only.

    Attributes:
        running: requests that have a place.
    """

    def __init__(self, places: int, queue: int) -> None:
        """At most `places` requests run and `queue` wait."""
        self.running = 0
        self._places = places
        self._queue = queue
        self._given = 0
        self._order = 0
        self._lanes: dict[Lane, deque[tuple[int, asyncio.Future[None]]]] = {
            lane: deque() for lane in LANES
        }

    @property
    def waiting(self) -> int:
        """Requests without a place."""
        return sum(len(lane) for lane in self._lanes.values())

    @asynccontextmanager
    async def place(self, lane: Lane) -> AsyncIterator[None]:
        """A place while the block lasts; whoever is cancelled while waiting leaves the queue.

        Raises:
            ServerBusy: too many wait already.
        """
        await self._enter(lane)
        try:
            yield
        finally:
            self.running -= 1
            self._let_in()

    async def _enter(self, lane: Lane) -> None:
        if self.running < self._places and not self.waiting:
            self.running += 1
            return
        if self.waiting >= self._queue:
            raise ServerBusy(
                f"{self.running} requests run and {self.waiting} wait, which is the most this "
                "server takes: try again a little later"
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._order += 1
        entry = (self._order, turn)
        self._lanes[lane].append(entry)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was let in at the same moment
                self.running -= 1
                self._let_in()
            elif entry in self._lanes[lane]:
                self._lanes[lane].remove(entry)
            raise

    def _let_in(self) -> None:
        while self.running < self._places and self.waiting:
            lane = self._next_lane()
            _, turn = lane.popleft()
            if turn.cancelled():  # its task has not come round to leaving the queue
                continue
            self.running += 1
            self._given += 1
            turn.set_result(None)

    def _next_lane(self) -> deque[tuple[int, asyncio.Future[None]]]:
        waiting = [lane for lane in self._lanes.values() if lane]
        if self._given % _FAIR == _FAIR - 1:
            return min(waiting, key=lambda lane: lane[0][0])
        return waiting[0]


class Gates:
    """A gate for each model, so that a slow one holds up nobody else's requests."""

    def __init__(self, places: int, queue: int) -> None:
        """At each model at most `places` requests run and `queue` wait."""
        self.places = places
        self._queue = queue
        self._gates: dict[str, Gate] = {}

    def of(self, model: str) -> Gate:
        """The gate of a model that is served."""
        if model not in self._gates:
            self._gates[model] = Gate(self.places, self._queue)
        return self._gates[model]

    @property
    def running(self) -> int:
        """Requests that have a place."""
        return sum(gate.running for gate in self._gates.values())

    @property
    def waiting(self) -> int:
        """Requests without one."""
        return sum(gate.waiting for gate in self._gates.values())
