"""`HostedEngine`: an engine in a process of its own, which is started again when it has ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    Callable,
    Iterable,
    Sequence,
)
from contextlib import aclosing
from typing import Any, TypeVar

from bakeoff.core.errors import BakeoffError
from bakeoff.core.modelfacts import ModelFacts, TokenizerFacts
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, TokenChunk
from bakeoff.core.ports import Engine
from bakeoff.core.requests import (
    EngineRequest,
    GenerateRequest,
    Messages,
    PredictRequest,
    Prompt,
    ScoreRequest,
)
from bakeoff.engines.host.methods import Opening
from bakeoff.engines.host.process import HostProcess, start
from bakeoff.engines.host.pulled import failing
from bakeoff.engines.host.remote import RemoteEngine, connect
from bakeoff.engines.options import EngineOptions

_LOG = logging.getLogger(__name__)
T = TypeVar("T")
Start = Callable[[], HostProcess]


async def open_hosted(
    name: str, facts: ModelFacts, options: EngineOptions | None = None, why: str = ""
) -> HostedEngine:
    """`open_engine` in a process of its own, which computes and does nothing else.

    One process for each engine: two that compute in one process slow each other down.

    Raises:
        ModelError: the model cannot be loaded, or its process went down over it.
    """
    opening = Opening(name, facts, options or EngineOptions(), why)
    return await HostedEngine.open(opening, start)


class HostedEngine(Engine):
    """Hands everything to a `RemoteEngine`, and makes a new one where the last was lost.

    What runs when the process ends fails with `EngineLost`; the next request waits until the
    model is loaded again.
    """

    def __init__(self, opening: Opening, start: Start, remote: RemoteEngine) -> None:
        """See `open`."""
        self.capabilities = remote.capabilities
        self.info = remote.info
        self.notices = remote.notices
        self._opening = opening
        self._start = start
        self._remote = remote
        self._again: asyncio.Task[RemoteEngine] | None = None
        self._closed = False

    @classmethod
    async def open(cls, opening: Opening, start: Start) -> HostedEngine:
        """Start a process with `start` and load the model there.

        Raises:
            ModelError: the model cannot be loaded, or the process went down over it.
        """
        return cls(opening, start, await _opened(opening, start))

    def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncGenerator[Completion | Failure, None]:
        """See `Engine.complete`."""
        return self._pulled("complete", requests)

    def score(
        self, requests: Iterable[ScoreRequest] | AsyncIterable[ScoreRequest]
    ) -> AsyncGenerator[Likelihood | Failure, None]:
        """See `Engine.score`."""
        return self._pulled("score", requests)

    def predict(
        self, requests: Iterable[PredictRequest] | AsyncIterable[PredictRequest]
    ) -> AsyncGenerator[Prediction | Failure, None]:
        """See `Engine.predict`."""
        return self._pulled("predict", requests)

    async def _pulled(self, method: str, requests: Any) -> AsyncGenerator[Any, None]:
        try:
            source = getattr(await self._live(), method)(requests)
        except BakeoffError as error:  # the model does not come up again
            source = failing(requests, error)
        async with aclosing(source) as outcomes:
            async for outcome in outcomes:
                yield outcome

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[TokenChunk, None]:
        """See `Engine.stream`."""
        async with aclosing((await self._live()).stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def unsupported(self, request: EngineRequest) -> list[str]:
        """See `RemoteEngine.unsupported`."""
        return self._remote.unsupported(request)

    async def abort(self, request_id: str) -> None:
        """See `Engine.abort`; in a process that is gone nothing runs."""
        if not self._remote.lost:
            await self._remote.abort(request_id)

    async def encode(self, text: str) -> list[int]:
        """See `Engine.encode`."""
        return await (await self._live()).encode(text)

    async def decode(self, ids: Sequence[int]) -> str:
        """See `Engine.decode`."""
        return await (await self._live()).decode(ids)

    async def tokenizer(self) -> TokenizerFacts:
        """See `Engine.tokenizer`."""
        return await (await self._live()).tokenizer()

    async def read(self, prompt: Prompt, *, special: bool = True) -> list[int]:
        """See `Engine.read`."""
        return await (await self._live()).read(prompt, special=special)

    async def render(self, prompt: Messages) -> str:
        """See `Engine.render`."""
        return await (await self._live()).render(prompt)

    async def pieces(self, ids: Sequence[int]) -> list[str]:
        """See `Engine.pieces`."""
        return await (await self._live()).pieces(ids)

    async def fill(
        self, before: str, after: str, files: tuple[tuple[str, str], ...] = ()
    ) -> list[int]:
        """See `Engine.fill`."""
        return await (await self._live()).fill(before, after, files)

    async def close(self) -> None:
        """See `Engine.close`."""
        self._closed = True
        again, self._again = self._again, None
        if again is not None:
            again.cancel()
            await asyncio.wait([again])
        await self._remote.close()

    async def _live(self) -> RemoteEngine:
        """The engine, started again where it was lost; all who wait share one start."""
        if self._closed or not self._remote.lost:
            return self._remote
        if self._again is None:
            self._again = asyncio.create_task(self._restarted())
            self._again.add_done_callback(self._restart_ended)
        # the start goes on where one of those who wait for it goes away
        return await asyncio.shield(self._again)

    async def _restarted(self) -> RemoteEngine:
        _LOG.warning("loading %s again in a new process", self._opening.facts.ref.uri)
        await self._remote.close()
        self._remote = await _opened(self._opening, self._start)
        return self._remote

    def _restart_ended(self, task: asyncio.Task[RemoteEngine]) -> None:
        self._again = None
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.warning("%s could not be loaded again: %s", self._opening.facts.ref.uri, error)


async def _opened(opening: Opening, start: Start) -> RemoteEngine:
    starting = asyncio.create_task(asyncio.to_thread(start))
    try:
        host = await asyncio.shield(starting)
    except asyncio.CancelledError:  # the process is there in a moment, and nobody knows it
        await asyncio.to_thread((await starting).stop)
        raise
    return await connect(host, opening)
