"""`Session`: one client of a host, its engine and the calls that run for it."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Engine
from bakeoff.engines import open_engine
from bakeoff.engines.host.codec import Codec
from bakeoff.engines.host.methods import Method, Opened, Opening, methods
from bakeoff.engines.host.wire import MORE, WINDOW, Frame
from bakeoff.engines.options import EngineOptions

_LOG = logging.getLogger(__name__)
OPEN = "open"
"""The first call of a client: loads its engine."""

Send = Callable[[Frame], None]
Opener = Callable[[str, ModelFacts, EngineOptions, str], Awaitable[Engine]]


class Session:
    """Carries out the calls of one client."""

    def __init__(self, send: Send, opener: Opener = open_engine) -> None:
        """`send` takes frames in order, at once; the windows bound what is on its way."""
        self._send = send
        self._opener = opener
        self._codec = Codec()
        self._engine: Engine | None = None
        self._calls: dict[int, _Call] = {}

    def take(self, frame: Frame) -> None:
        """One frame of the client; those of calls that have ended are ignored."""
        if frame.kind == "call":
            self._begin(frame)
        elif (call := self._calls.get(frame.call)) is not None:
            call.take(frame)

    async def close(self) -> None:
        """The client is gone: end its calls, and free its engine."""
        tasks = [call.task for call in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._engine is not None:
            await self._engine.close()

    def _begin(self, frame: Frame) -> None:
        number = frame.call
        call = _Call(number, self._send, self._codec)
        call.task = asyncio.create_task(self._run(call, frame.body))
        self._calls[number] = call
        call.task.add_done_callback(lambda _: self._calls.pop(number, None))

    async def _run(self, call: _Call, body: Any) -> None:
        try:
            name, arguments = body
            result = await (
                self._open(arguments)
                if name == OPEN
                else call.run(self._opened(), methods()[name], arguments)
            )
        except Exception as error:  # whatever it is, the client waits for it
            plain = self._codec.plain_error(error)
            if plain["class"] != type(error).__name__:
                _LOG.exception("the engine failed")
            self._send(Frame("error", call.number, plain))
        else:
            self._send(Frame("done", call.number, result))

    async def _open(self, arguments: Any) -> Any:
        asked: Opening = self._codec.value(arguments[0], Opening)
        self._engine = engine = await self._opener(
            asked.name, asked.facts, asked.options, asked.why
        )
        opened = Opened(engine.capabilities, engine.info, tuple(engine.notices))
        return self._codec.plain(opened, Opened)

    def _opened(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("no model was opened")
        return self._engine


class _Call:
    """One call.

    Attributes:
        number: that the client gave it.
        task: runs it.
    """

    task: asyncio.Task[None]

    def __init__(self, number: int, send: Send, codec: Codec) -> None:
        self.number = number
        self._send = send
        self._codec = codec
        self._room = WINDOW
        self._waiting: deque[Any] = deque()
        self._ended = False
        self._coming = 0
        self._told = asyncio.Event()

    def take(self, frame: Frame) -> None:
        """What the client says after it began the call."""
        match frame.kind:
            case "requests":
                self._waiting.extend(frame.body)
                self._coming -= len(frame.body)
            case "end":
                self._ended = True
            case "more":
                self._room += frame.body
            case "cancel":
                self.task.cancel()
        self._told.set()

    async def run(self, engine: Engine, method: Method, arguments: Any) -> Any:
        """Carry it out; items are sent as they come."""
        function = getattr(engine, method.name)
        if method.pulls is not None:
            result = function(self._requests(method.pulls))
        else:
            taken = zip(method.takes, arguments, strict=True)
            result = function(**{name: self._codec.value(v, kind) for (name, kind), v in taken})
        if method.flows:
            await self._pump(result, method.gives)
            return None
        if inspect.isawaitable(result):
            result = await result
        return self._codec.plain(result, method.gives)

    async def _pump(self, items: AsyncIterator[Any], kind: Any) -> None:
        try:
            async for item in items:
                await self._until(lambda: self._room > 0)
                self._room -= 1
                self._send(Frame("items", self.number, [self._codec.plain(item, kind)]))
        finally:
            if isinstance(items, AsyncGenerator):
                await items.aclose()

    async def _requests(self, kind: Any) -> AsyncGenerator[Any, None]:
        """What the client sends; asked for when the engine asks."""
        portion = WINDOW
        while True:
            if not self._waiting and not self._ended:
                if self._coming <= MORE // 2:
                    self._send(Frame("want", self.number, portion - self._coming))
                    self._coming, portion = portion, MORE
                await self._until(lambda: bool(self._waiting) or self._ended)
            if not self._waiting:
                return
            yield self._codec.value(self._waiting.popleft(), kind)

    async def _until(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self._told.clear()
            await self._told.wait()
