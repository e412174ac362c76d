"""Answers that may be cancelled by a client that leaves: whole ones and streams of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bakeoff.serving.log import told
from bakeoff.serving.problems import Problem

T = TypeVar("T")
HEAD_START = 10.0
"""Seconds that a stream's first event may take before the headers are sent without it."""
PULSE = 15.0
"""Seconds of silence after which a stream shows that it is alive."""
_AHEAD = 256
"""Events made before a slow client holds up its stream."""


class ClientGone(Exception):
    """The client closed the connection; nobody reads an answer."""


@dataclass(frozen=True, slots=True)
class Wire:
    """How a stream is written.

    Attributes:
        media_type: of the response.
        failed: the event that says that a stream failed after it began.
        pulse: what is sent in a long silence; empty for nothing.
    """

    media_type: str
    failed: Callable[[Problem], bytes]
    pulse: bytes = b""

    @classmethod
    def server_sent(cls, failed: Callable[[Problem], bytes]) -> Wire:
        """Server-sent events; `failed` gives an event's line."""
        return cls("text/event-stream", lambda problem: failed(problem) + b"\n\n", b": waiting\n\n")


async def whole(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled if the client leaves.

    Raises:
        ClientGone: it left.
    """
    task = asyncio.ensure_future(work)
    watch = asyncio.ensure_future(gone(request.receive))
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        await _ended(task, watch)


async def gone(receive: Receive) -> None:
    """Return when the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True)
class _End:
    """The last thing in a feed: how its task ended."""

    error: Exception | None


class EventStream(Response):
    """A response whose events are made by a task of their own.

    `begin` waits for the first event, so that what fails before it is an ordinary error.
    """

    def __init__(
        self, wire: Wire, events: AsyncGenerator[bytes, None], headers: Mapping[str, str]
    ) -> None:
        """`events` are closed when the client leaves; `headers` go with the response."""
        super().__init__(None, media_type=wire.media_type)
        del self.headers["content-length"]
        self.headers.update({"cache-control": "no-cache", "x-accel-buffering": "no", **headers})
        self._wire = wire
        self._events = events
        self._queue: asyncio.Queue[bytes | _End] = asyncio.Queue(_AHEAD)
        self._first: bytes | None = None
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None

    async def begin(self, request: Request) -> EventStream:
        """This response, once its first event is there or `HEAD_START` is over.

        Raises:
            ClientGone: the client left meanwhile.
            Exception: whatever ended the events before the first.
        """
        self._task = asyncio.create_task(self._make())
        self._watch = asyncio.create_task(gone(request.receive))
        try:
            item = await self._next(HEAD_START)
            if not isinstance(item, _End):
                self._first = item
            elif item.error is not None:
                raise item.error
            else:
                self._queue.put_nowait(item)
        except BaseException:
            await self._close()
            raise
        return self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what comes until it ends or the client leaves."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if self._first:
                await self._send(send, self._first)
            while not isinstance(item := await self._next(PULSE), _End):
                await self._send(send, self._wire.pulse if item is None else item)
            if item.error is not None:
                await self._send(send, self._wire.failed(told(item.error)))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except (ClientGone, OSError):
            scope["bakeoff.left"] = True
        finally:
            await self._close()

    async def _send(self, send: Send, body: bytes) -> None:
        if body:
            await send({"type": "http.response.body", "body": body, "more_body": True})

    async def _make(self) -> None:
        error: Exception | None = None
        try:
            async with aclosing(self._events) as events:
                async for event in events:
                    await self._queue.put(event)
        except Exception as problem:  # told to the client by whoever takes the end
            error = problem
        await self._queue.put(_End(error))

    async def _next(self, patience: float) -> bytes | _End | None:
        """What is there, joined; None if nothing came in time."""
        if self._queue.empty():
            getting = asyncio.ensure_future(self._queue.get())
            watching = [getting, self._watch] if self._watch is not None else [getting]
            try:
                await asyncio.wait(watching, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                if self._watch is not None and self._watch.done():
                    raise ClientGone
                if not getting.done():
                    return None
                item = getting.result()
            finally:
                getting.cancel()
        else:
            item = self._queue.get_nowait()
        return item if isinstance(item, _End) else self._joined(item)

    def _joined(self, first: bytes) -> bytes:
        parts = [first]
        while not self._queue.empty():
            item = self._queue.get_nowait()
            if isinstance(item, _End):
                self._queue.put_nowait(item)  # it is the last: it comes next
                break
            parts.append(item)
        return b"".join(parts)

    async def _close(self) -> None:
        await _ended(*(task for task in (self._task, self._watch) if task is not None))


async def _ended(*tasks: asyncio.Future[Any]) -> None:
    """Cancel and wait; what they raise has been told, or nobody is there to hear it."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task
