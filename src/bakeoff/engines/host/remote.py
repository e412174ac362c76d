"""`RemoteEngine`: an engine in another process, behind the same interface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from typing import Any

from bakeoff.core.errors import EngineClosed, EngineLost
from bakeoff.core.modelfacts import TokenizerFacts
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
from bakeoff.engines.host.connection import Connection
from bakeoff.engines.host.flowing import given
from bakeoff.engines.host.methods import Opened, Opening, methods
from bakeoff.engines.host.process import HostProcess
from bakeoff.engines.host.pulled import pulled
from bakeoff.engines.host.session import OPEN

_AT_ONCE = 10.0
"""Seconds that a host may take for what needs no model."""


async def connect(host: HostProcess, opening: Opening) -> RemoteEngine:
    """Have a host load a model; return when it is ready.

    Raises:
        ModelError: the model cannot be loaded, or the host went down over it.
    """
    connection = Connection(host, opening.facts.ref.short_name)
    try:
        await asyncio.wrap_future(connection.greet())
        asked = connection.ask(OPEN, [connection.codec.plain(opening, Opening)])
        opened = connection.codec.value(await asyncio.wrap_future(asked), Opened)
    except BaseException:
        await asyncio.shield(asyncio.to_thread(connection.close))
        raise
    return RemoteEngine(connection, opened)


class RemoteEngine(Engine):
    """Asks the engine of a host; where the host is gone, everything fails with `EngineLost`."""

    def __init__(self, connection: Connection, opened: Opened) -> None:
        """`connection` belongs to this engine, which closes it."""
        self.capabilities = opened.capabilities
        self.info = opened.info
        self.notices = opened.notices
        self._connection = connection

    @property
    def lost(self) -> bool:
        """Whether the host is gone."""
        return self._connection.gone is not None

    def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncGenerator[Completion | Failure, None]:
        """See `Engine.complete`."""
        return pulled(self._connection, methods()["complete"], requests)

    def score(
        self, requests: Iterable[ScoreRequest] | AsyncIterable[ScoreRequest]
    ) -> AsyncGenerator[Likelihood | Failure, None]:
        """See `Engine.score`."""
        return pulled(self._connection, methods()["score"], requests)

    def predict(
        self, requests: Iterable[PredictRequest] | AsyncIterable[PredictRequest]
    ) -> AsyncGenerator[Prediction | Failure, None]:
        """See `Engine.predict`."""
        return pulled(self._connection, methods()["predict"], requests)

    def stream(self, request: GenerateRequest) -> AsyncGenerator[TokenChunk, None]:
        """See `Engine.stream`."""
        return given(self._connection, methods()["stream"], [request])

    def unsupported(self, request: EngineRequest) -> list[str]:
        """See `Engine.unsupported`; waits for the host, which answers without its model.

        Raises:
            EngineLost: the host is gone, or does not answer.
        """
        method = methods()["unsupported"]
        asked = self._connection.ask(method.name, self._connection.arguments(method, [request]))
        try:
            names: list[str] = self._connection.codec.value(asked.result(_AT_ONCE), method.gives)
        except TimeoutError as error:
            asked.cancel()
            raise EngineLost(f"the engine's process gave no answer in {_AT_ONCE:g} s") from error
        return names

    async def abort(self, request_id: str) -> None:
        """See `Engine.abort`."""
        await self._ask("abort", request_id)

    async def encode(self, text: str) -> list[int]:
        """See `Engine.encode`."""
        ids: list[int] = await self._ask("encode", text)
        return ids

    async def decode(self, ids: Sequence[int]) -> str:
        """See `Engine.decode`."""
        text: str = await self._ask("decode", ids)
        return text

    async def tokenizer(self) -> TokenizerFacts:
        """See `Engine.tokenizer`."""
        facts: TokenizerFacts = await self._ask("tokenizer")
        return facts

    async def read(self, prompt: Prompt, *, special: bool = True) -> list[int]:
        """See `Engine.read`."""
        ids: list[int] = await self._ask("read", prompt, special)
        return ids

    async def render(self, prompt: Messages) -> str:
        """See `Engine.render`."""
        text: str = await self._ask("render", prompt)
        return text

    async def pieces(self, ids: Sequence[int]) -> list[str]:
        """See `Engine.pieces`."""
        texts: list[str] = await self._ask("pieces", ids)
        return texts

    async def fill(
        self, before: str, after: str, files: tuple[tuple[str, str], ...] = ()
    ) -> list[int]:
        """See `Engine.fill`."""
        ids: list[int] = await self._ask("fill", before, after, files)
        return ids

    async def close(self) -> None:
        """See `Engine.close`; the host ends."""
        try:
            await self._ask("close")
        except (EngineClosed, EngineLost):
            pass  # it has ended before
        await asyncio.to_thread(self._connection.close)

    async def _ask(self, name: str, *values: Any) -> Any:
        method, connection = methods()[name], self._connection
        asked = connection.ask(name, connection.arguments(method, values))
        return connection.codec.value(await asyncio.wrap_future(asked), method.gives)
