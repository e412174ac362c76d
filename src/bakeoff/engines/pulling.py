"""Requests from a plain or an async iterable, in batches, no earlier than there is room."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")


async def pull(requests: Iterable[T] | AsyncIterable[T], size: int) -> AsyncIterator[list[T]]:
    """Lists of up to `size` requests; the next is asked for when the last was worked off."""
    batch: list[T] = []
    async for request in each(requests):
        batch.append(request)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def each(requests: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    """The requests one by one, whichever kind of iterable they come in."""
    if isinstance(requests, AsyncIterable):
        async for request in requests:
            yield request
    else:
        for request in requests:
            yield request
