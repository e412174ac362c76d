"""`Online`: the asynchronous side of the loop: requests in, chunks and completions out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from bakeoff.core.errors import BakeoffError
from bakeoff.core.outputs import Completion, Failure, TokenChunk
from bakeoff.core.requests import GenerateRequest
from bakeoff.engines.batch.flow import Steps, failures_of, taken_in, windows
from bakeoff.engines.batch.rows import Arrived, Control, Row
from bakeoff.engines.steps.loop import Loop
from bakeoff.engines.steps.sequence import Seq, Sink
from bakeoff.engines.steps.sinks import Pieces, Whole
from bakeoff.engines.text.streaming import Telling
from bakeoff.engines.thread import ComputeThread

Outcome = Completion | Failure
_LOW = 64
"""Requests are read ahead while fewer rows than this are in flight."""


class Writes(Protocol):
    """What makes rows and text of a generative model; on the compute thread only."""

    def read(self, arrived: Arrived) -> list[Row]:
        """A request's rows; raises a `BakeoffError` for what cannot be read."""

    def telling(self, row: Row, push: Callable[[TokenChunk], None]) -> Telling:
        """What makes chunks of a row's tokens."""

    def seq(self, row: Row, control: Control, sink: Sink) -> Seq:
        """The row, ready for the loop."""


@dataclass(frozen=True)
class Online:
    """Brings requests to the loop of an engine, and their texts back to the event loop.

    Attributes:
        thread: owns the model.
        loop: runs on it.
        writes: makes rows and text.
        steps: the same requests as batches of the library.
        stepped: whether a row is for the loop; others go into batches.
    """

    thread: ComputeThread
    loop: Loop
    writes: Writes
    steps: Steps[GenerateRequest, Row, Outcome]
    stepped: Callable[[Row], bool]

    async def stream(
        self, request: GenerateRequest, control: Control
    ) -> AsyncGenerator[TokenChunk, None]:
        """The chunks of a request; those of several choices come as they are certain."""
        chunks: asyncio.Queue[TokenChunk | _End] = asyncio.Queue()
        push = _pushing(asyncio.get_running_loop(), chunks)
        arrived = Arrived(request, time.perf_counter())
        entering = self.thread.submit(lambda: self._enter(arrived, control, push))
        entering.add_done_callback(lambda future: _failed_to_enter(future, push))
        left = 1
        while left:
            item = await chunks.get()
            if isinstance(item, _End):
                left += item.more
                if item.error is not None:
                    raise item.error
            else:
                yield item

    def _enter(self, arrived: Arrived, control: Control, push: Callable[[Any], None]) -> None:
        rows = self.writes.read(arrived)
        push(_End(more=len(rows) - 1))
        self.loop.add(
            self.writes.seq(
                row,
                control,
                Pieces(self.writes.telling(row, push), push, lambda error: push(_End(error, -1))),
            )
            for row in rows
        )

    async def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest], control: Control
    ) -> AsyncGenerator[Outcome, None]:
        """Outcomes as they come; closing the iterator stops what runs within one step."""
        call = _Call(self, control)
        pulling = asyncio.create_task(call.pull(requests))
        try:
            while (outcomes := await call.queue.get()) is not None:
                for outcome in outcomes:
                    yield outcome
            await pulling  # raises what the source raised
        finally:
            control.stop("cancelled")
            pulling.cancel()
            await asyncio.wait([pulling])


@dataclass(frozen=True, slots=True)
class _End:
    """A text is complete (`more` is -1), or so many more texts than one are to come."""

    error: BaseException | None = None
    more: int = 0


def _pushing(loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[Any]) -> Callable[[Any], None]:
    def push(item: Any) -> None:
        with suppress(RuntimeError):  # the event loop was closed: nobody listens any more
            loop.call_soon_threadsafe(queue.put_nowait, item)

    return push


def _failed_to_enter(future: Future[None], push: Callable[[Any], None]) -> None:
    error = future.exception()
    if error is not None:
        push(_End(error))


@dataclass(eq=False)
class _Call:
    """One call of `complete`.

    Attributes:
        queue: outcomes for the caller; None is the end.
    """

    online: Online
    control: Control
    queue: asyncio.Queue[list[Outcome] | None] = field(default_factory=asyncio.Queue)
    _left: int = 0
    _room: asyncio.Event = field(default_factory=asyncio.Event)

    async def pull(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> None:
        """Read requests as there is room, until all are answered."""
        try:
            async with aclosing(windows(requests)) as source:
                async for window in source:
                    await self._window(window)
                    await self._until(_LOW)
            await self._until(1)
        finally:
            self.queue.put_nowait(None)

    async def _window(self, window: Sequence[tuple[GenerateRequest, float]]) -> None:
        rows, failures = await taken_in(self.online.thread, self.online.steps, window)
        self.queue.put_nowait([*failures])
        self._left += len(rows)
        await self._enter([row for row in rows if self.online.stepped(row)])
        for batch in self.online.steps.plan([r for r in rows if not self.online.stepped(r)]):
            await self._batch(batch)

    async def _enter(self, rows: list[Row]) -> None:
        """Hand rows to the loop, the longest first: rows of like length share columns."""
        if not rows:
            return
        loop, writes = self.online.loop, self.online.writes
        give = self._giving()
        seqs = [
            writes.seq(row, self.control, Whole(row, self.control, lambda made: give(made, 1)))
            for row in sorted(rows, key=lambda row: -row.length)
        ]
        try:
            await self.online.thread.run(lambda: loop.add(seqs))
        except BakeoffError as error:
            self._given([*failures_of(rows, error)], len(rows))

    async def _batch(self, rows: list[Row]) -> None:
        """Hand rows to the library's own decoding, behind the batch that runs now."""
        compute = self.online.steps.compute
        try:
            outcomes = await self.online.thread.run(lambda: compute(rows, self.control))
        except BakeoffError as error:
            outcomes = [*failures_of(rows, error)]
        self._given(outcomes, len(rows))

    def _giving(self) -> Callable[[list[Outcome], int], None]:
        loop = asyncio.get_running_loop()

        def give(outcomes: list[Outcome], rows: int) -> None:
            with suppress(RuntimeError):  # see `_pushing`
                loop.call_soon_threadsafe(self._given, outcomes, rows)

        return give

    def _given(self, outcomes: list[Outcome], rows: int) -> None:
        self._left -= rows
        self.queue.put_nowait(outcomes)
        self._room.set()

    async def _until(self, fewer: int) -> None:
        """Wait until fewer rows than this are in flight."""
        while self._left >= fewer:
            self._room.clear()
            await self._room.wait()
