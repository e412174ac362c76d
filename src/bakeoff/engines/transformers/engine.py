"""`TransformersEngine`: the asynchronous side. Loads no heavy library itself.

Everything that touches the model or its tokenizer runs on the engine's own thread; what is here
hands requests over and gives results out as each batch ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, TypeVar

from bakeoff.core.errors import BakeoffError, UnsupportedOption
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, TokenChunk
from bakeoff.core.ports import Engine, EngineInfo, ModelFacts
from bakeoff.core.registry import Registry
from bakeoff.core.requests import (
    EngineRequest,
    GenerateRequest,
    PredictRequest,
    ScoreRequest,
    Source,
)
from bakeoff.core.rows import Notice
from bakeoff.engines.batch.flow import Flow, Q, R, Steps
from bakeoff.engines.batch.rows import Arrived, Control, PredictRow, Row, ScoreRow
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.thread import ComputeThread

if TYPE_CHECKING:
    from bakeoff.engines.transformers.worker import Worker

_WORKERS: Registry[type[Worker]] = Registry(
    "worker", {"transformers": "bakeoff.engines.transformers.worker:Worker"}
)
_NAMELESS = {"prompt_logprobs", "grammar", "adapter"}
O = TypeVar("O")  # noqa: E741 - outcome


async def open_transformers(
    facts: ModelFacts, options: EngineOptions, why: str
) -> TransformersEngine:
    """Load a model on a thread of its own and return when it is ready.

    Raises:
        ModelError: the model cannot be loaded.
    """
    thread = ComputeThread(f"transformers {facts.ref.short_name}")
    try:
        worker = await thread.run(lambda: _WORKERS.get("transformers")(facts, options))
    except BaseException:
        thread.close()
        raise
    return TransformersEngine(facts, thread, worker, why)


class TransformersEngine(Engine):
    """A model run by the transformers library.

    Honours every field of `GenerationParams`; a request without `seed` draws with seed 0, so the
    same request gives the same text. Choices of a greedy request are equal. Beams are the
    library's, and give their `n` best.

    Attributes:
        notices: what was noticed while loading, for the report.
    """

    def __init__(
        self, facts: ModelFacts, thread: ComputeThread, worker: Worker, why: str = ""
    ) -> None:
        self.capabilities = facts.capabilities
        self.info = EngineInfo(
            name="transformers",
            version=worker.version,
            device=worker.loaded.device,
            dtype=worker.loaded.dtype,
            why=why,
        )
        self.notices: tuple[Notice, ...] = worker.notices
        self._defaults = facts.defaults
        self._thread = thread
        self._worker: Worker = worker
        self._controls: set[Control] = set()

    async def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncGenerator[Completion | Failure, None]:
        """See `Engine.complete`."""
        worker = self._worker
        steps: Steps[GenerateRequest, Row, Completion | Failure] = Steps(
            refuse=self._refusal,
            prepare=lambda window: worker.rows([Arrived(*one) for one in window]),
            plan=worker.careful.plan,
            compute=worker.complete,
        )
        async with aclosing(self._flow(steps, requests)) as outcomes:
            async for outcome in outcomes:
                yield outcome

    async def score(
        self, requests: Iterable[ScoreRequest] | AsyncIterable[ScoreRequest]
    ) -> AsyncGenerator[Likelihood | Failure, None]:
        """See `Engine.score`."""
        worker = self._worker
        steps: Steps[ScoreRequest, ScoreRow, Likelihood | Failure] = Steps(
            refuse=self._refusal,
            prepare=lambda window: worker.score_rows([request for request, _ in window]),
            plan=worker.careful.plan,
            compute=worker.score,
        )
        async with aclosing(self._flow(steps, requests)) as outcomes:
            async for outcome in outcomes:
                yield outcome

    async def predict(
        self, requests: Iterable[PredictRequest] | AsyncIterable[PredictRequest]
    ) -> AsyncGenerator[Prediction | Failure, None]:
        """See `Engine.predict`."""
        worker = self._worker
        steps: Steps[PredictRequest, PredictRow, Prediction | Failure] = Steps(
            refuse=self._refusal,
            prepare=lambda window: ([PredictRow(request, at) for request, at in window], []),
            plan=worker.careful.plan,
            compute=worker.predict,
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
            running = self._thread.submit(lambda: self._worker.stream(arrived, control, push))
            running.add_done_callback(lambda _: push(None))
            try:
                while (chunk := await chunks.get()) is not None:
                    yield chunk
            finally:
                running.cancel()
            if not running.cancelled():
                running.result()  # raises what went wrong

    def unsupported(self, request: EngineRequest) -> list[str]:
        """See `Engine.unsupported`."""
        encoder = self.capabilities.kind == "encoder"
        if isinstance(request, PredictRequest):
            return self._worker.unsupported(request) if encoder else ["ask"]
        if isinstance(request, ScoreRequest):
            return ["continuation"] if encoder else self._languages(request.context)
        if encoder:
            return ["prompt"]
        named = [name for name in _NAMELESS if getattr(request, name) is not None]
        return [*sorted(named), *self._beams(request), *self._languages(request.prompt)]

    def _beams(self, request: GenerateRequest) -> list[str]:
        params = request.params.over(self._defaults)
        beams = params.num_beams or 1
        if beams == 1:
            return []
        wrong = ["num_beams"] if params.sampled else []
        wrong += ["n"] if (params.n or 1) > beams else []
        return wrong + (["logprobs"] if request.logprobs is not None else [])

    def _languages(self, prompt: object) -> list[str]:
        return self._worker.languages.unknown(prompt) if isinstance(prompt, Source) else []

    def _refusal(self, request: EngineRequest) -> BakeoffError | None:
        """The error for what this engine cannot honour; languages explain themselves later."""
        names = [n for n in self.unsupported(request) if not n.endswith("_language")]
        if not names:
            return None
        name = names[0]
        wrong = _WRONG_KIND.get(name) or (
            f"the transformers engine cannot honour {', '.join(names)} here: "
            f"{_HINTS.get(name, 'leave it out')}"
        )
        return UnsupportedOption(wrong, option=name)

    async def abort(self, request_id: str) -> None:
        """See `Engine.abort`."""
        for control in self._controls:
            control.abort(request_id)

    async def encode(self, text: str) -> list[int]:
        """See `Engine.encode`."""
        return await self._thread.run(lambda: self._worker.encode(text))

    async def decode(self, ids: Sequence[int]) -> str:
        """See `Engine.decode`."""
        return await self._thread.run(lambda: self._worker.decode(ids))

    async def close(self) -> None:
        """See `Engine.close`."""
        for control in self._controls:
            control.stop("closed")
        self._thread.close()
        await self._thread.join()


_HINTS = {
    "num_beams": "beams do not sample; set num_beams: 1, or temperature: 0",
    "n": "beams give at most num_beams texts",
    "logprobs": "beams report none; set num_beams: 1",
}
_WRONG_KIND = {
    "ask": "the model writes text and cannot answer this: take an encoder model",
    "prompt": "the model is an encoder and writes no text: take a generative model",
    "continuation": "the model is an encoder and gives no likelihoods: take a generative model",
}
