"""The host's side of the socket: lets its own parent in, and ends when the parent has gone."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NoReturn

from bakeoff.core.errors import EngineClosed
from bakeoff.engines.host.codec import Codec
from bakeoff.engines.host.methods import version
from bakeoff.engines.host.session import Session
from bakeoff.engines.host.wire import BadFrame, Frame, Unpacker, packed

_LOG = logging.getLogger(__name__)
_CHUNK = 2**18
_LOOK = 1.0
"""Seconds between two looks for the parent."""
_GRACE = 5.0
"""Seconds that engines get to end once nobody wants them any more."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a host listens.

    Attributes:
        socket: path of a Unix socket, or None for a free port of the loopback interface.
        token: what a client must know.
        parent: process without which the host has no purpose.
    """

    socket: Path | None
    token: str
    parent: int


async def serve(place: Place, ready: Callable[[str], None], lifeline: BinaryIO) -> None:
    """Run engines until `lifeline` ends, which the parent holds open, or the parent is gone."""
    stop = asyncio.Event()
    _follow(lifeline, asyncio.get_running_loop(), stop)
    watching = asyncio.create_task(_watch(place.parent, stop))
    clients = _Clients(place.token)
    server = await _listen(place, clients)
    ready(str(place.socket or server.sockets[0].getsockname()[1]))
    try:
        await stop.wait()
    finally:
        watching.cancel()
        server.close()
        await clients.close()


def leave(status: int) -> NoReturn:
    """End now: a thread that computes in a library must not hold the process, or crash it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


async def _listen(place: Place, clients: _Clients) -> asyncio.Server:
    if place.socket is None:
        return await asyncio.start_server(clients.serve, "127.0.0.1", 0)
    mask = os.umask(0o177)  # nobody but the owner, from the first moment
    try:
        return await asyncio.start_unix_server(clients.serve, place.socket)
    finally:
        os.umask(mask)


def _follow(lifeline: BinaryIO, loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop when the lifeline ends; where the loop hangs by then, end all the same."""

    def follow() -> None:
        with suppress(OSError, ValueError):
            while lifeline.read(_CHUNK):
                pass
        with suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(stop.set)
        time.sleep(_GRACE)
        leave(1)

    threading.Thread(target=follow, name="lifeline", daemon=True).start()


async def _watch(parent: int, stop: asyncio.Event) -> None:
    """Another end for the case that a stray child of the parent holds the lifeline open."""
    if os.name != "posix":
        return
    while os.getppid() == parent:
        await asyncio.sleep(_LOOK)
    stop.set()
    await asyncio.sleep(_GRACE)
    leave(1)


class _Clients:
    """Those that are connected."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, from its greeting to its end."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks[task] = writer
        outlet = _Outlet(writer)
        session = Session(outlet.send)
        try:
            await self._converse(reader, outlet, session)
        except BadFrame as problem:
            _LOG.warning("a client of the engines was cut off: %s", problem)
        except OSError:
            pass  # it went away
        finally:
            await session.close()
            outlet.flush()
            writer.close()
            del self._tasks[task]

    async def _converse(
        self, reader: asyncio.StreamReader, outlet: _Outlet, session: Session
    ) -> None:
        unpacker, known = Unpacker(), False
        while data := await reader.read(_CHUNK):
            for frame in unpacker.frames(data):
                if known:
                    session.take(frame)
                elif self._greeted(frame, outlet):
                    known = True
                else:
                    return

    def _greeted(self, frame: Frame, outlet: _Outlet) -> bool:
        """Whether a client may go on; it is told."""
        if frame.kind != "hello" or not isinstance(frame.body, dict):
            return False
        said = str(frame.body.get("token", ""))
        if not hmac.compare_digest(said.encode(), self._token.encode()):
            return False
        if frame.body.get("version") != version():
            error = EngineClosed(
                f"the engine's process is bakeoff {version()}, the one that asks is "
                f"{frame.body.get('version')}: the installation was changed; restart it"
            )
            outlet.send(Frame("error", frame.call, Codec().plain_error(error)))
            return False
        outlet.send(Frame("done", frame.call))
        return True

    async def close(self) -> None:
        """End all of them."""
        for writer in self._tasks.values():
            writer.close()  # which ends what is read
        await asyncio.gather(*self._tasks, return_exceptions=True)


class _Outlet:
    """Frames to a client; those of one turn of the loop go out together."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()

    def send(self, frame: Frame) -> None:
        """Put a frame in line."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting += packed(frame)

    def flush(self) -> None:
        """Hand over what is in line."""
        if self._waiting:
            self._writer.write(bytes(self._waiting))
            self._waiting.clear()
