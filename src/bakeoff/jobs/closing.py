"""Leave an async iterator in an orderly way: what it holds is released at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def closed_after(iterator: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """The iterator; closed when the block ends, so that an engine cancels what is in flight."""
    try:
        yield iterator
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()
