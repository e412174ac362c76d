"""`Flowing`: a call whose results come one by one, on the client's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from typing import Any

from bakeoff.core.errors import BakeoffError
from bakeoff.engines.host.connection import Connection
from bakeoff.engines.host.methods import Method
from bakeoff.engines.host.wire import MORE, WINDOW, Frame


class Flowing:
    """What a host sends for a call, and what it is told.

    Attributes:
        codec: of the connection.
        gone: why nothing more comes of the host, or None.
        room: how many further requests may be sent; where the host is gone, how many may fail
            before somebody has read of it.
        number: of the call.
    """

    def __init__(self, connection: Connection) -> None:
        """Begin with `begin`, on the event loop that reads."""
        self.codec = connection.codec
        self.gone: BakeoffError | None = None
        self.room = 0
        self.number = 0
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._told = asyncio.Event()
        self._read = 0
        self._over = False

    def begin(self, method: Method, values: Sequence[Any]) -> None:
        """Call a method with these values.

        Raises:
            BakeoffError: the host is gone, or the values are too large.
        """
        self.number = self._connection.begin(self)
        arguments = self._connection.arguments(method, values)
        self._connection.send(Frame("call", self.number, [method.name, arguments]))

    async def next(self) -> Frame:
        """The next frame of the host, or of `put`; `lost` is the last of a host that is gone."""
        frame = await self._frames.get()
        self._over = self._over or frame.kind in ("done", "error", "lost")
        return frame

    def put(self, frame: Frame) -> None:
        """A frame of this side, in line with those of the host."""
        self._frames.put_nowait(frame)

    def say(self, kind: str, body: Any = None) -> None:
        """Tell the host, while it can still be told.

        Raises:
            InvalidRequest: it is too large.
        """
        if not self._over and self.gone is None:
            self._connection.send(Frame(kind, self.number, body))

    def was_read(self) -> None:
        """A result was read: there is room for a further one."""
        self._read += 1
        if self._read == MORE:
            self._read = 0
            self.say("more", MORE)

    def grant(self, further: int) -> None:
        """Room for so many further requests."""
        self.room += further
        self._told.set()

    async def take_room(self) -> None:
        """Wait until a request may be sent, and count it."""
        while self.room <= 0:
            self._told.clear()
            await self._told.wait()
        self.room -= 1

    def end(self) -> None:
        """Nobody reads on: what still runs is cancelled."""
        self.say("cancel")
        self._over = True
        self._connection.end(self.number)

    def lose(self, error: BakeoffError) -> None:
        """The host is gone."""
        self.gone = error
        self.put(Frame("lost", self.number, error))
        self.room = 0
        self.grant(WINDOW)

    def take(self, frames: Sequence[Frame]) -> None:
        """See `connection.Call`."""
        self._on_loop(lambda: self._took(frames))

    def lost(self, error: BakeoffError) -> None:
        """See `connection.Call`."""
        self._on_loop(lambda: self.lose(error))

    def _took(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if frame.kind == "want":
                self.grant(frame.body)
            else:
                self.put(frame)

    def _on_loop(self, call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the event loop was closed: nobody listens any more
            self._loop.call_soon_threadsafe(call)


async def given(
    connection: Connection, method: Method, values: Sequence[Any]
) -> AsyncGenerator[Any, None]:
    """Results of a call whose arguments are known; closing it cancels the call.

    Raises:
        BakeoffError: the call failed, or the host is gone.
    """
    call = Flowing(connection)
    try:
        call.begin(method, values)
        while (frame := await call.next()).kind == "items":
            for plain in frame.body:
                yield call.codec.value(plain, method.gives)
                call.was_read()
        if frame.kind != "done":
            raise frame.body
    finally:
        call.end()
