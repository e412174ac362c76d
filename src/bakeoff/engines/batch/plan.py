"""Rows become batches: rows of a batch resemble each other, and a batch fits the memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar


class Sized(Protocol):
    """What the planner looks at."""

    @property
    def group(self) -> Hashable:
        """Only rows with the same value share a batch."""

    @property
    def length(self) -> int:
        """Tokens read."""

    @property
    def max_new(self) -> int:
        """Most tokens written."""

    @property
    def lanes(self) -> int:
        """How many sequences are computed for the row."""


S = TypeVar("S", bound=Sized)
_NEGLIGIBLE = 8
"""Tokens that prompts may always differ by."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a batch may be.

    Attributes:
        rows: most sequences.
        tokens: most sequences times the longest (read and written).
        spread: how many tokens the shortest and the longest prompt may be apart, as a share of
            the new tokens (for libraries that read a mixed batch step by step); None: any.
    """

    rows: int
    tokens: int
    spread: float | None = None

    def fits(self, rows: Sequence[Sized]) -> bool:
        """Whether these rows may share a batch; one row always may."""
        return len(rows) == 1 or (
            sum(row.lanes for row in rows) <= self.rows
            and weight(rows) <= self.tokens
            and self._alike(rows)
        )

    def _alike(self, rows: Sequence[Sized]) -> bool:
        if self.spread is None:
            return True
        lengths = [row.length for row in rows]
        allowed = max(_NEGLIGIBLE, self.spread * max(row.max_new for row in rows))
        return max(lengths) - min(lengths) <= allowed

    def halved(self, rows: Sequence[Sized]) -> Limits:
        """What to allow after a batch of these rows ran out of memory."""
        lanes = sum(row.lanes for row in rows)
        return replace(
            self,
            rows=max(1, min(self.rows, lanes // 2)),
            tokens=max(1, min(self.tokens, weight(rows) // 2)),
        )


def weight(rows: Sequence[Sized]) -> int:
    """Tokens that a batch of these rows holds when every row runs to its limit."""
    lanes = sum(row.lanes for row in rows)
    return lanes * (max(row.length for row in rows) + max(row.max_new for row in rows))


def plan(
    rows: Iterable[S], limits: Limits, kin: Callable[[S], Hashable] | None = None
) -> list[list[S]]:
    """Batches of all rows, the heaviest first in each group.

    A batch runs as long as its longest answer and reads as much as its longest prompt, so rows
    are first parted by how much they may write, then sorted by how much they read.

    Args:
        rows: in any order.
        limits: how large a batch may be.
        kin: only rows with the same value share a batch; default: their `group`.
    """
    groups: dict[Hashable, list[S]] = {}
    for row in rows:
        groups.setdefault(row.group if kin is None else kin(row), []).append(row)
    return [
        batch
        for group in groups.values()
        for strip in _strips(group, limits)
        for batch in _cut(sorted(strip, key=lambda row: -row.length), limits)
    ]


def _strips(rows: list[S], limits: Limits) -> Iterator[list[S]]:
    """Rows parted into stretches of like `max_new`, as many as balance the two kinds of waste."""
    if len({row.max_new for row in rows}) == 1:
        yield rows
        return
    batches = len(rows) * max(row.lanes for row in rows) / limits.rows
    count = max(1, round(batches**0.5))
    rows = sorted(rows, key=lambda row: -row.max_new)
    size = -(-len(rows) // count)
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]


def _evenly(rows: Sequence[Sized], limits: Limits) -> Limits:
    """As many rows a batch as leave none of the batches small."""
    lanes = sum(row.lanes for row in rows)
    most = max(row.lanes for row in rows)
    count = -(-lanes // limits.rows)
    return replace(limits, rows=min(limits.rows, -(-lanes // count) + most - 1))


def _cut(rows: Sequence[S], limits: Limits) -> Iterator[list[S]]:
    limits = _evenly(rows, limits)
    batch: list[S] = []
    for row in rows:
        if batch and not limits.fits([*batch, row]):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
