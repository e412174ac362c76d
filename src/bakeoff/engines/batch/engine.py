"""`BatchEngine`: the asynchronous side of an engine that works batch by batch on its own thread.

Loads no heavy library. Everything that touches a model or its tokenizer runs on the engine's
thread; what is here hands requests over and gives results out as each batch ends.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import ClassVar, Protocol, TypeVar

from bakeoff.core.errors import BakeoffError, UnsupportedOption
from bakeoff.core.modelfacts import EngineInfo, ModelFacts, TokenizerFacts
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, TokenChunk
from bakeoff.core.ports import Engine
from bakeoff.core.requests import (
    EngineRequest,
    GenerateRequest,
    Messages,
    PredictRequest,
    Prompt,
    ScoreRequest,
    Source,
)
from bakeoff.core.rows import Notice
from bakeoff.engines.batch.careful import Careful
from bakeoff.engines.batch.flow import Flow, Q, R, Steps
from bakeoff.engines.batch.rows import Arrived, Control, PredictRow, Row, ScoreRow
from bakeoff.engines.thread import ComputeThread

O = TypeVar("O")  # noqa: E741 - outcome
W = TypeVar("W")


class Knows(Protocol):
    """The languages of a tokenizer."""

    def unknown(self, prompt: Source) -> list[str]:
        """Names of the fields of a source that it cannot honour."""


class AnswersAboutTokens(Protocol):
    """What clients ask of a tokenizer; on the compute thread only."""

    def facts(self) -> TokenizerFacts:
        """See `Engine.tokenizer`."""

    def read(self, prompt: Prompt, special: bool) -> list[int]:
        """See `Engine.read`."""

    def render(self, prompt: Messages) -> str:
        """See `Engine.render`."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """See `Engine.pieces`."""

    def fill(self, before: str, after: str, files: Sequence[tuple[str, str]]) -> list[int]:
        """See `Engine.fill`."""


class Works(Protocol):
    """What runs on the compute thread.

    Attributes:
        careful: plans batches of texts and of predictions.
        scoring: plans batches of continuations.
        languages: that the tokenizer knows; any thread may ask.
        notices: what was noticed while loading.
    """

    careful: Careful
    scoring: Careful

    @property
    def languages(self) -> Knows:
        """See above."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """See above."""

    @property
    def tokens(self) -> AnswersAboutTokens:
        """Answers about the tokenizer."""

    def rows(self, arrived: Sequence[Arrived]) -> tuple[list[Row], list[Failure]]:
        """Requests become rows."""

    def score_rows(self, requests: Sequence[ScoreRequest]) -> tuple[list[ScoreRow], list[Failure]]:
        """Score requests become rows."""

    def complete(self, rows: Sequence[Row], control: Control) -> list[Completion | Failure]:
        """Texts of a batch."""

    def score(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood | Failure]:
        """Likelihoods of a batch."""

    def predict(self, rows: Sequence[PredictRow], control: Control) -> list[Prediction | Failure]:
        """An encoder's answers to a batch."""

    def stream(
        self, arrived: Arrived, control: Control, push: Callable[[TokenChunk], None]
    ) -> None:
        """One text, chunk by chunk."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text, special tokens included."""

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens left out."""

    def close(self) -> None:
        """Free what must not wait for the engine to be forgotten; may be called twice."""


async def on_own_thread(name: str, load: Callable[[], W]) -> tuple[ComputeThread, W]:
    """Load a worker on a new thread of that name and return when it is ready.

    Raises:
        BakeoffError: whatever `load` raises; the thread is closed then.
    """
    thread = ComputeThread(name)
    try:
        return thread, await thread.run(load)
    except BaseException:
        thread.close()
        raise


class BatchEngine(Engine):
    """An engine over a worker; what it can honour is left to the engines themselves.

    Attributes:
        hints: name of a field that is refused -> what to do instead.
        notices: what was noticed while loading, for the report.
    """

    hints: ClassVar[dict[str, str]] = {}

    def __init__(
        self, facts: ModelFacts, info: EngineInfo, thread: ComputeThread, worker: Works
    ) -> None:
        self.capabilities = facts.capabilities
        self.info = info
        self.notices: tuple[Notice, ...] = worker.notices
        self._defaults = facts.defaults
        self._thread = thread
        self._work = worker
        self._controls: set[Control] = set()

    @abstractmethod
    def unsupported(self, request: EngineRequest) -> list[str]:
        """See `Engine.unsupported`."""

    async def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncGenerator[Completion | Failure, None]:
        """See `Engine.complete`."""
        async with aclosing(self._flow(self._completing(), requests)) as outcomes:
            async for outcome in outcomes:
                yield outcome

    def _completing(self) -> Steps[GenerateRequest, Row, Completion | Failure]:
        work = self._work
        return Steps(
            refuse=self._refusal,
            prepare=lambda window: work.rows([Arrived(*one) for one in window]),
            plan=work.careful.plan,
            compute=work.complete,
        )

    async def score(
        self, requests: Iterable[ScoreRequest] | AsyncIterable[ScoreRequest]
    ) -> AsyncGenerator[Likelihood | Failure, None]:
        """See `Engine.score`."""
        work = self._work
        steps: Steps[ScoreRequest, ScoreRow, Likelihood | Failure] = Steps(
            refuse=self._refusal,
            prepare=lambda window: work.score_rows([request for request, _ in window]),
            plan=work.scoring.plan,
            compute=work.score,
        )
        async with aclosing(self._flow(steps, requests)) as outcomes:
            async for outcome in outcomes:
                yield outcome

    async def predict(
        self, requests: Iterable[PredictRequest] | AsyncIterable[PredictRequest]
    ) -> AsyncGenerator[Prediction | Failure, None]:
        """See `Engine.predict`."""
        work = self._work
        steps: Steps[PredictRequest, PredictRow, Prediction | Failure] = Steps(
            refuse=self._refusal,
            prepare=lambda window: ([PredictRow(request, at) for request, at in window], []),
            plan=work.careful.plan,
            compute=work.predict,
        )
        async with aclosing(self._flow(steps, requests)) as outcomes:
            async for outcome in outcomes:
                yield outcome

    async def _flow(
        self, steps: Steps[Q, R, O], requests: Iterable[Q] | AsyncIterable[Q]
    ) -> AsyncGenerator[O | Failure, None]:
        with self._controlled() as control:
            flow = Flow(self._thread, steps, control)
            async with aclosing(flow.run(requests)) as outcomes:
                async for outcome in outcomes:
                    yield outcome

    @contextmanager
    def _controlled(self) -> Iterator[Control]:
        """A control that `abort` and `close` reach while the call lasts."""
        control = Control()
        self._controls.add(control)
        try:
            yield control
        finally:
            control.stop("cancelled")
            self._controls.discard(control)

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[TokenChunk, None]:
        """See `Engine.stream`; the text is computed alone, in the order of submission.

        With `n` above 1 the choices follow one another.
        """
        refusal = self._refusal(request)
        if refusal is not None:
            raise refusal
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[TokenChunk | None] = asyncio.Queue()

        def push(chunk: TokenChunk | None) -> None:
            loop.call_soon_threadsafe(chunks.put_nowait, chunk)

        arrived = Arrived(request, time.perf_counter())
        with self._controlled() as control:
            running = self._thread.submit(lambda: self._work.stream(arrived, control, push))
            running.add_done_callback(lambda _: push(None))
            try:
                while (chunk := await chunks.get()) is not None:
                    yield chunk
            finally:
                running.cancel()
            if not running.cancelled():
                running.result()  # raises what went wrong

    def _languages(self, prompt: object) -> list[str]:
        return self._work.languages.unknown(prompt) if isinstance(prompt, Source) else []

    def _refusal(self, request: EngineRequest) -> BakeoffError | None:
        """The error for what this engine cannot honour; languages explain themselves later."""
        names = [n for n in self.unsupported(request) if not n.endswith("_language")]
        if not names:
            return None
        name = names[0]
        wrong = _WRONG_KIND.get(name) or (
            f"the {self.info.name} engine cannot honour {', '.join(names)} here: "
            f"{self.hints.get(name, 'leave it out')}"
        )
        return UnsupportedOption(wrong, option=name)

    async def abort(self, request_id: str) -> None:
        """See `Engine.abort`."""
        for control in self._controls:
            control.abort(request_id)

    async def encode(self, text: str) -> list[int]:
        """See `Engine.encode`."""
        return await self._thread.run(lambda: self._work.encode(text))

    async def decode(self, ids: Sequence[int]) -> str:
        """See `Engine.decode`."""
        return await self._thread.run(lambda: self._work.decode(ids))

    async def tokenizer(self) -> TokenizerFacts:
        """See `Engine.tokenizer`."""
        return await self._thread.run(lambda: self._work.tokens.facts())

    async def read(self, prompt: Prompt, *, special: bool = True) -> list[int]:
        """See `Engine.read`."""
        return await self._thread.run(lambda: self._work.tokens.read(prompt, special))

    async def render(self, prompt: Messages) -> str:
        """See `Engine.render`."""
        return await self._thread.run(lambda: self._work.tokens.render(prompt))

    async def pieces(self, ids: Sequence[int]) -> list[str]:
        """See `Engine.pieces`."""
        return await self._thread.run(lambda: self._work.tokens.pieces(ids))

    async def fill(
        self, before: str, after: str, files: tuple[tuple[str, str], ...] = ()
    ) -> list[int]:
        """See `Engine.fill`."""
        return await self._thread.run(lambda: self._work.tokens.fill(before, after, files))

    async def close(self) -> None:
        """See `Engine.close`."""
        for control in self._controls:
            control.stop("closed")
        self._thread.close()
        await self._thread.join()
        await asyncio.to_thread(self._work.close)


_WRONG_KIND = {
    "ask": "the model writes text and cannot answer this: take an encoder model",
    "prompt": "the model is an encoder and writes no text: take a generative model",
    "continuation": "the model is an encoder and gives no likelihoods: take a generative model",
}
