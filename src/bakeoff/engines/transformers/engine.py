"""`TransformersEngine`: what the transformers library can be asked; loads nothing heavy itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, ClassVar

from bakeoff.core.modelfacts import EngineInfo, ModelFacts
from bakeoff.core.outputs import Completion, Failure, TokenChunk
from bakeoff.core.registry import Registry
from bakeoff.core.requests import EngineRequest, GenerateRequest, PredictRequest, ScoreRequest
from bakeoff.engines.batch.engine import BatchEngine, on_own_thread
from bakeoff.engines.batch.rows import Row
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.steps.loop import Loop
from bakeoff.engines.steps.online import Online
from bakeoff.engines.thread import ComputeThread

if TYPE_CHECKING:
    from bakeoff.engines.transformers.worker import Worker

_WORKERS: Registry[type[Worker]] = Registry(
    "worker", {"transformers": "bakeoff.engines.transformers.worker:Worker"}
)
_NAMELESS = {"adapter"}


async def open_transformers(
    facts: ModelFacts, options: EngineOptions, why: str
) -> TransformersEngine:
    """Load a model on a thread of its own and return when it is ready.

    Raises:
        ModelError: the model cannot be loaded.
    """
    name = f"transformers {facts.ref.short_name}"
    thread, worker = await on_own_thread(name, lambda: _WORKERS.get("transformers")(facts, options))
    return TransformersEngine(facts, thread, worker, why)


class TransformersEngine(BatchEngine):
    """A model run by the transformers library.

    Honours every field of `GenerationParams`; a request without `seed` draws with seed 0, so the
    same request gives the same text. Choices of a greedy request are equal. Beams are the
    library's, and give their `n` best.
    """

    hints: ClassVar[dict[str, str]] = {
        "num_beams": "beams neither sample nor follow a grammar; set num_beams: 1, or "
        "temperature: 0 and no grammar",
        "grammar": "this model goes through the library's generate, which follows none",
        "n": "beams give at most num_beams texts",
        "logprobs": "beams report none; set num_beams: 1",
        "prompt_logprobs": "a decoder-only model that goes step by step gives them; with beams "
        "none does",
    }

    def __init__(
        self, facts: ModelFacts, thread: ComputeThread, worker: Worker, why: str = ""
    ) -> None:
        info = EngineInfo(
            name="transformers",
            version=worker.version,
            device=worker.loaded.placed,
            dtype=worker.loaded.dtype,
            why=why,
        )
        super().__init__(facts, info, thread, worker)
        self._worker: Worker = worker
        self._online: Online | None = None
        if (stepper := worker.stepper) is not None:
            loop = Loop(stepper.scheduler, thread.submit)
            self._online = Online(thread, loop, stepper, self._completing(), _stepped)

    async def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncGenerator[Completion | Failure, None]:
        """See `Engine.complete`."""
        if self._online is None:
            source = super().complete(requests)
            async with aclosing(source) as outcomes:
                async for outcome in outcomes:
                    yield outcome
            return
        with self._controlled() as control:
            async with aclosing(self._online.complete(requests, control)) as outcomes:
                async for outcome in outcomes:
                    yield outcome

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[TokenChunk, None]:
        """See `Engine.stream`; many at once, but for beams, which come whole."""
        beams = (request.params.over(self._defaults).num_beams or 1) > 1
        if self._online is None or beams:
            async with aclosing(super().stream(request)) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        if (refusal := self._refusal(request)) is not None:
            raise refusal
        with self._controlled() as control:
            async with aclosing(self._online.stream(request, control)) as chunks:
                async for chunk in chunks:
                    yield chunk

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
        if request.grammar is not None and self._online is None:
            named.append("grammar")
        if request.prompt_logprobs is not None and not self._tells(request):
            named.append("prompt_logprobs")
        return [*sorted(named), *self._beams(request), *self._languages(request.prompt)]

    def _tells(self, request: GenerateRequest) -> bool:
        """Whether the log-probabilities of a prompt can be told: the loop reads it."""
        beams = (request.params.over(self._defaults).num_beams or 1) > 1
        return self._online is not None and self.capabilities.kind == "causal" and not beams

    def _beams(self, request: GenerateRequest) -> list[str]:
        params = request.params.over(self._defaults)
        beams = params.num_beams or 1
        if beams == 1:
            return []
        wrong = ["num_beams"] if params.sampled or request.grammar is not None else []
        wrong += ["n"] if (params.n or 1) > beams else []
        return wrong + (["logprobs"] if request.logprobs is not None else [])


def _stepped(row: Row) -> bool:
    """Whether a row goes token by token through the loop; others are batches of the library."""
    return row.lanes == 1
