"""`Lanes`: who waits, and who is next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from bakeoff.core.requests import LANES
from bakeoff.engines.steps.sequence import Seq

FAIR = 4
"""Every so many, the one that has waited longest is next, whatever its lane."""


def rank(seq: Seq) -> int:
    """0 is the best lane."""
    return LANES.index(seq.row.lane)


class Lanes:
    """A queue for each lane; nobody waits for ever."""

    def __init__(self) -> None:
        self._queues: tuple[deque[Seq], ...] = tuple(deque() for _ in LANES)
        self._taken = 0

    def __len__(self) -> int:
        return sum(map(len, self._queues))

    def __iter__(self) -> Iterator[Seq]:
        for queue in self._queues:
            yield from queue

    def add(self, seq: Seq) -> None:
        """Put it last in its lane."""
        self._queues[rank(seq)].append(seq)

    def put_back(self, seq: Seq) -> None:
        """Put it first in its lane: it had its turn, and lost its place."""
        self._queues[rank(seq)].appendleft(seq)

    def next(self) -> Seq | None:
        """Who is next; it stays in line until it is taken."""
        heads = [queue[0] for queue in self._queues if queue]
        if not heads:
            return None
        if self._taken % FAIR == FAIR - 1:
            return min(heads, key=lambda seq: seq.row.arrived)
        return heads[0]

    def take(self, seq: Seq) -> None:
        """Take out the one that `next` gave."""
        self._queues[rank(seq)].popleft()
        self._taken += 1

    def drop(self, gone: list[Seq]) -> None:
        """Take out some, wherever they stand."""
        for queue in self._queues:
            if any(seq in gone for seq in queue):
                kept = [seq for seq in queue if seq not in gone]
                queue.clear()
                queue.extend(kept)
