"""`Connection`: the client's end of the socket; many calls over one host."""

from __future__ import annotations

import logging
import queue
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Protocol

from bakeoff.core.errors import BakeoffError, EngineClosed, EngineLost
from bakeoff.engines.host.codec import Codec
from bakeoff.engines.host.methods import Method, version
from bakeoff.engines.host.process import HostProcess
from bakeoff.engines.host.wire import BadFrame, Frame, Unpacker, packed

_LOG = logging.getLogger(__name__)
_CHUNK = 2**18


class Call(Protocol):
    """Who waits for the frames of a call; told on the connection's own thread."""

    def take(self, frames: Sequence[Frame]) -> None:
        """What came for it, in order."""

    def lost(self, error: BakeoffError) -> None:
        """Nothing more will come."""


class Connection:
    """Sends frames and gives what comes to the call that it belongs to.

    Two threads read and write, so that an event loop never waits for the host, and calls of
    several loops may share a connection.
    """

    def __init__(self, host: HostProcess, model: str) -> None:
        """Begin to read; `model` is its name, for messages."""
        self.codec = Codec()
        self._host = host
        self._model = model
        self._lock = threading.Lock()
        self._calls: dict[int, Call] = {}
        self._next = 1
        self._gone: BakeoffError | None = None
        self._out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=work, name=f"{name} {model}", daemon=True)
            for name, work in (("reads", self._read), ("writes", self._write))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def gone(self) -> BakeoffError | None:
        """Why nothing can be asked any more, or None."""
        return self._gone

    def greet(self) -> Future[Any]:
        """Introduce this client to the host; anything else comes later."""
        return self._waiting("hello", {"token": self._host.token, "version": version()})

    def begin(self, call: Call) -> int:
        """A number for a new call.

        Raises:
            BakeoffError: the host is gone.
        """
        with self._lock:
            if self._gone is not None:
                raise _again(self._gone)
            self._calls[self._next] = call
            self._next += 1
            return self._next - 1

    def end(self, number: int) -> None:
        """Forget a call; what still comes for it is dropped."""
        with self._lock:
            self._calls.pop(number, None)

    def send(self, frame: Frame) -> None:
        """Put a frame in line.

        Raises:
            InvalidRequest: it is too large.
        """
        self._out.put(packed(frame))

    def ask(self, method: str, arguments: Sequence[Any]) -> Future[Any]:
        """Ask for a single result, given as JSON values; so are the arguments.

        Raises:
            BakeoffError: the host is gone.
        """
        return self._waiting("call", [method, list(arguments)])

    def _waiting(self, kind: str, body: Any) -> Future[Any]:
        waiting = Waiting()
        number = self.begin(waiting)

        def over(future: Future[Any]) -> None:
            self.end(number)
            if future.cancelled():
                self.send(Frame("cancel", number))

        waiting.future.add_done_callback(over)
        try:
            self.send(Frame(kind, number, body))
        except BakeoffError:
            self.end(number)
            raise
        return waiting.future

    def arguments(self, method: Method, values: Sequence[Any]) -> list[Any]:
        """The arguments of a call as JSON values."""
        pairs = zip(values, method.takes, strict=True)
        return [self.codec.plain(value, kind) for value, (_, kind) in pairs]

    def close(self) -> None:
        """End the host; whoever still waits gets `EngineClosed`. May be called twice."""
        closed = EngineClosed("the engine was closed")
        self._leave(closed)
        self._gone = closed  # also where it was lost before
        self._host.stop()
        for thread in self._threads:
            thread.join()

    def _read(self) -> None:
        unpacker = Unpacker()
        try:
            while data := self._host.connection.recv(_CHUNK):
                self._give(list(unpacker.frames(data)))
        except OSError:
            pass  # the same as an end
        except BadFrame:
            _LOG.exception("the process of %s sent what is no answer", self._model)
        if self._gone is None:
            self._leave(self._loss())

    def _loss(self) -> EngineLost:
        text = f"the process that ran {self._model} is gone: {self._host.ending()}"
        return EngineLost(f"{text}; send the request again")

    def _leave(self, error: BakeoffError) -> None:
        with self._lock:
            if self._gone is not None:
                return
            self._gone = error
            calls, self._calls = list(self._calls.values()), {}
        self._out.put(None)
        for call in calls:
            call.lost(_again(error))

    def _give(self, frames: Sequence[Frame]) -> None:
        groups: dict[int, list[Frame]] = defaultdict(list)
        for frame in frames:
            groups[frame.call].append(frame)
        for number, group in groups.items():
            with self._lock:
                call = self._calls.get(number)
            if call is not None:
                call.take([self._with_error(frame) for frame in group])

    def _with_error(self, frame: Frame) -> Frame:
        return frame._replace(body=self.codec.error(frame.body)) if frame.kind == "error" else frame

    def _write(self) -> None:
        with suppress(OSError):  # the reader finds out, and says so
            while (data := self._out.get()) is not None:
                self._host.connection.sendall(data)


class Waiting:
    """A call with a single result.

    Attributes:
        future: the result as JSON values.
    """

    def __init__(self) -> None:
        self.future: Future[Any] = Future()

    def take(self, frames: Sequence[Frame]) -> None:
        """See `Call`."""
        for frame in frames:
            if not self.future.set_running_or_notify_cancel():
                return
            if frame.kind == "error":
                self.future.set_exception(frame.body)
            else:
                self.future.set_result(frame.body)

    def lost(self, error: BakeoffError) -> None:
        """See `Call`."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)


def _again(error: BakeoffError) -> BakeoffError:
    """The same error for one more caller: each raises an object of its own."""
    return type(error)(error.message)
