"""`pulled`: outcomes of requests that a host pulls as it has room."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from bakeoff.core.errors import BakeoffError, InvalidRequest
from bakeoff.core.outputs import Failure
from bakeoff.core.requests import EngineRequest, GenerateRequest
from bakeoff.engines.host.connection import Connection
from bakeoff.engines.host.flowing import Flowing
from bakeoff.engines.host.methods import Method
from bakeoff.engines.host.wire import Frame
from bakeoff.engines.pulling import each

_PATIENCE = 3
"""Turns of the event loop that a source may take before what it gave is sent: as engines wait."""
_BREATH = 32
"""Requests after which others get a turn; rendering prompts may take a while."""


async def pulled(
    connection: Connection, method: Method, requests: Iterable[Any] | AsyncIterable[Any]
) -> AsyncGenerator[Any, None]:
    """Outcomes as they come; closing it cancels what runs.

    Where the host is gone, each request fails that has no outcome by then, or comes later.

    Raises:
        BakeoffError: the call as a whole failed.
    """
    asking = _Asking(Flowing(connection), method)
    call = asking.call
    try:
        call.begin(method, ())
    except BakeoffError as error:
        call.lose(error)
    sending = asyncio.create_task(asking.send(requests))
    try:
        async with aclosing(asking.outcomes()) as outcomes:
            async for outcome in outcomes:
                yield outcome
        await sending  # raises what the source raised
    finally:
        call.end()
        sending.cancel()
        await asyncio.wait([sending])


def failing(
    requests: Iterable[Any] | AsyncIterable[Any], error: BakeoffError
) -> AsyncGenerator[Failure, None]:
    """The same failure for every request."""

    async def failures() -> AsyncGenerator[Failure, None]:
        async for request in each(requests):
            yield Failure.of(request.id, error)

    return failures()


@dataclass
class _Asking:
    """One call: its requests on their way, and their outcomes back."""

    call: Flowing
    method: Method
    _owed: Counter[str] = field(default_factory=Counter)
    _parcel: list[tuple[str, Any]] = field(default_factory=list)
    _idle: int = 0
    _ticking: bool = False
    _sent: bool = False

    async def outcomes(self) -> AsyncGenerator[Any, None]:
        """What the host answers; failures once it is gone."""
        while (frame := await self.call.next()).kind != "done":
            if frame.kind == "error":
                raise frame.body
            if frame.kind == "items":
                for plain in frame.body:
                    outcome = self.call.codec.value(plain, self.method.gives)
                    self._answered(outcome)
                    yield outcome
                    self.call.was_read()
            elif frame.kind == "failed":
                yield frame.body
                self.call.grant(1)
            else:
                owed, self._owed = self._owed, Counter()
                for request_id in owed:
                    yield Failure.of(request_id, frame.body)
                self._finish_without_host()

    async def send(self, requests: Iterable[Any] | AsyncIterable[Any]) -> None:
        """Read the source as there is room, to its end."""
        try:
            number = 0
            async for request in each(requests):
                await self.call.take_room()
                self._add(request)
                number += 1
                if number % _BREATH == 0:
                    await asyncio.sleep(0)
        finally:
            self._flush()
            self.call.say("end")
            self._sent = True
            self._finish_without_host()

    def _add(self, request: EngineRequest) -> None:
        if self.call.gone is not None:
            self._fail(request.id, self.call.gone)
            return
        try:
            plain = self.call.codec.plain(request, self.method.pulls)
        except Exception as problem:  # a value of a wrong type costs only its own request
            error = InvalidRequest(f"the request cannot be sent to its engine: {problem!r}")
            self._fail(request.id, error)
            return
        self._owed[request.id] += _texts(request)
        self._parcel.append((request.id, plain))
        self._idle = 0
        if not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_soon(self._tick)

    def _tick(self) -> None:
        """Send what was gathered once the source has paused."""
        self._idle += 1
        self._ticking = bool(self._parcel) and self._idle <= _PATIENCE
        if self._ticking:
            asyncio.get_running_loop().call_soon(self._tick)
        else:
            self._flush()

    def _flush(self) -> None:
        parcel, self._parcel = self._parcel, []
        if not parcel:
            return
        try:
            self.call.say("requests", [plain for _, plain in parcel])
        except BakeoffError as error:
            for request_id, _ in parcel:
                self._owed.pop(request_id, None)
                self._fail(request_id, error)

    def _fail(self, request_id: str, error: BakeoffError) -> None:
        self.call.put(Frame("failed", self.call.number, Failure.of(request_id, error)))

    def _answered(self, outcome: Any) -> None:
        self._owed[outcome.id] -= self._owed[outcome.id] if isinstance(outcome, Failure) else 1
        if self._owed[outcome.id] <= 0:
            del self._owed[outcome.id]

    def _finish_without_host(self) -> None:
        """The end that a host which is gone does not tell."""
        if self._sent and self.call.gone is not None:
            self.call.put(Frame("done", self.call.number))


def _texts(request: EngineRequest) -> int:
    return (request.params.n or 1) if isinstance(request, GenerateRequest) else 1
