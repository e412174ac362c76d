"""`flow`: requests in, results out, one batch ahead of the caller."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from bakeoff.core.errors import BakeoffError, EngineClosed
from bakeoff.core.outputs import Failure
from bakeoff.core.requests import EngineRequest
from bakeoff.engines.batch.rows import Control
from bakeoff.engines.thread import ComputeThread

Q = TypeVar("Q", bound=EngineRequest)


class HasId(Protocol):
    """A row knows its request."""

    @property
    def id(self) -> str:
        """Of the request."""


R = TypeVar("R", bound=HasId)
O = TypeVar("O")  # noqa: E741 - outcome

WINDOW = 256
"""Most requests read ahead: enough to sort by length, few enough to hold."""
_PATIENCE = 3
"""Turns of the event loop that a source may take before a window is closed early."""
_AHEAD = 2


@dataclass(frozen=True)
class Steps(Generic[Q, R, O]):
    """What is done with requests of one kind.

    Attributes:
        refuse: on the event loop: why a request cannot be taken, or None.
        prepare: on the compute thread: requests, with the time when they came, become rows.
        plan: rows become batches.
        compute: on the compute thread: a batch becomes outcomes.
    """

    refuse: Callable[[Q], BakeoffError | None]
    prepare: Callable[[Sequence[tuple[Q, float]]], tuple[list[R], list[Failure]]]
    plan: Callable[[Sequence[R]], list[list[R]]]
    compute: Callable[[Sequence[R], Control], list[O]]


class Flow(Generic[Q, R, O]):
    """One call of `complete`, `score` or `predict`."""

    def __init__(self, thread: ComputeThread, steps: Steps[Q, R, O], control: Control) -> None:
        self._thread = thread
        self._steps = steps
        self._control = control
        self._waiting: deque[tuple[list[R], Future[list[O]]]] = deque()

    async def run(
        self, requests: Iterable[Q] | AsyncIterable[Q]
    ) -> AsyncGenerator[O | Failure, None]:
        """Outcomes as they come; closing the iterator stops what runs within one step."""
        try:
            async with aclosing(windows(requests)) as source:
                async for window in source:
                    async with aclosing(self._window(window)) as outcomes:
                        async for outcome in outcomes:
                            yield outcome
        finally:
            self._control.stop("cancelled")
            for _, future in self._waiting:
                future.cancel()

    async def _window(self, window: Sequence[tuple[Q, float]]) -> AsyncGenerator[O | Failure, None]:
        rows, failures = await taken_in(self._thread, self._steps, window)
        for failure in failures:
            yield failure
        for batch in self._steps.plan(rows):
            self._submit(batch)
            while len(self._waiting) >= _AHEAD:
                for outcome in await self._next():
                    yield outcome
        while self._waiting:
            for outcome in await self._next():
                yield outcome

    def _submit(self, batch: list[R]) -> None:
        future: Future[list[O]]
        try:
            future = self._thread.submit(lambda: self._steps.compute(batch, self._control))
        except EngineClosed as error:
            future = Future()
            future.set_exception(error)
        self._waiting.append((batch, future))

    async def _next(self) -> list[O | Failure]:
        """The outcomes of the batch that was handed over first."""
        batch, future = self._waiting.popleft()
        try:
            return [*await asyncio.wrap_future(future)]
        except EngineClosed as error:
            return [*failures_of(batch, error)]
        except asyncio.CancelledError:
            future.cancel()
            raise


async def taken_in(
    thread: ComputeThread, steps: Steps[Q, R, O], window: Sequence[tuple[Q, float]]
) -> tuple[list[R], list[Failure]]:
    """The rows of a window, and the failures of what is refused or cannot be read."""
    taken, failures = [], []
    for request, at in window:
        refusal = steps.refuse(request)
        if refusal is None:
            taken.append((request, at))
        else:
            failures.append(Failure.of(request.id, refusal))
    try:
        rows, unreadable = await thread.run(lambda: steps.prepare(taken))
    except EngineClosed as error:
        rows, unreadable = [], [Failure.of(request.id, error) for request, _ in taken]
    return rows, failures + unreadable


def failures_of(rows: Sequence[HasId], error: BakeoffError) -> list[Failure]:
    """One failure for each request that these rows belong to."""
    return [Failure.of(one, error) for one in dict.fromkeys(row.id for row in rows)]


async def windows(
    requests: Iterable[Q] | AsyncIterable[Q], size: int = WINDOW
) -> AsyncGenerator[list[tuple[Q, float]], None]:
    """Requests with the time when each came, as many at a time as are there, up to `size`."""
    if isinstance(requests, AsyncIterable):
        async for window in _gathered(requests, size):
            yield window
        return
    window = []
    for request in requests:
        window.append((request, time.perf_counter()))
        if len(window) == size:
            yield window
            window = []
        elif len(window) % 32 == 0:
            await asyncio.sleep(0)  # rendering prompts may take a while
    if window:
        yield window


async def _gathered(
    requests: AsyncIterable[Q], size: int
) -> AsyncGenerator[list[tuple[Q, float]], None]:
    """A source that may pause: what is there is taken, the rest is waited for beside it."""
    queue: asyncio.Queue[tuple[Q, float] | None] = asyncio.Queue(size)
    reading = asyncio.create_task(_read(requests, queue))
    try:
        more = True
        while more and (first := await queue.get()) is not None:
            window, idle = [first], 0
            while more and len(window) < size and idle < _PATIENCE:
                if queue.empty():
                    idle += 1
                    await asyncio.sleep(0)
                elif (item := queue.get_nowait()) is not None:
                    window.append(item)
                    idle = 0
                else:
                    more = False
            yield window
        await reading  # raises what the source raised
    finally:
        reading.cancel()
        await asyncio.wait([reading])


async def _read(requests: AsyncIterable[Q], queue: asyncio.Queue[tuple[Q, float] | None]) -> None:
    """Fill the queue; None is the end, whether the source ended or failed."""
    try:
        async for request in requests:
            await queue.put((request, time.perf_counter()))
    except asyncio.CancelledError:
        raise  # nobody reads any more
    except BaseException:
        await queue.put(None)
        raise
    await queue.put(None)
