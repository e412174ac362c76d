"""`OpenVinoEngine`: what the openvino engine can be asked; loads nothing heavy itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from bakeoff.core.errors import DependencyMissing, ModelError, ModelLoadFailed, OutOfMemory
from bakeoff.core.modelfacts import EngineInfo, ModelFacts
from bakeoff.core.outputs import Completion, Failure, TokenChunk
from bakeoff.core.ports import Engine
from bakeoff.core.registry import Registry
from bakeoff.core.requests import EngineRequest, GenerateRequest, PredictRequest, ScoreRequest
from bakeoff.core.rows import Notice
from bakeoff.engines.batch.engine import BatchEngine, on_own_thread
from bakeoff.engines.needs import Needs
from bakeoff.engines.openvino.able import HINTS, installed, unable
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.steps.loop import Loop
from bakeoff.engines.steps.online import Online
from bakeoff.engines.thread import ComputeThread
from bakeoff.engines.transformers.engine import open_transformers

if TYPE_CHECKING:
    from bakeoff.engines.openvino.worker import Worker

_WORKERS: Registry[type[Worker]] = Registry(
    "worker", {"openvino": "bakeoff.engines.openvino.worker:Worker"}
)


async def open_openvino(facts: ModelFacts, options: EngineOptions, why: str) -> Engine:
    """Load a model in a process of its own, exported where it is not yet.

    Where `auto` chose the engine and the model does not export, or does not fit into memory,
    transformers takes its place.

    Raises:
        DependencyMissing: the extra is not installed.
        ModelError: the model cannot be exported or loaded.
    """
    if not installed():
        raise DependencyMissing("`engine: openvino`", "openvino")
    name = f"openvino {facts.ref.short_name}"
    try:
        thread, worker = await on_own_thread(name, lambda: _WORKERS.get("openvino")(facts, options))
    except (ModelLoadFailed, OutOfMemory) as error:
        if facts.ref.engine != "auto":
            raise
        return await _instead(facts, options, error)
    return OpenVinoEngine(facts, thread, worker, why)


async def _instead(facts: ModelFacts, options: EngineOptions, error: ModelError) -> Engine:
    engine = await open_transformers(facts, options, "openvino, which is faster, failed")
    text = f"openvino did not load it, transformers runs it: {error.message}"
    engine.notices = (*engine.notices, Notice("engine-fallback", text))
    return engine


class OpenVinoEngine(BatchEngine):
    """A decoder-only model run by OpenVINO's continuous batching, on a CPU.

    Greedy texts. What it does not do is named by `unsupported`.
    """

    hints: ClassVar[dict[str, str]] = HINTS

    def __init__(
        self, facts: ModelFacts, thread: ComputeThread, worker: Worker, why: str = ""
    ) -> None:
        info = EngineInfo(
            name="openvino", version=worker.version, device="cpu", dtype="float32", why=why
        )
        super().__init__(facts, info, thread, worker)
        self.capabilities = replace(facts.capabilities, likelihood=False)
        self._facts = facts
        loop = Loop(worker.relay, thread.submit)
        self._online = Online(thread, loop, worker, self._completing(), lambda _: True)

    async def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncGenerator[Completion | Failure, None]:
        """See `Engine.complete`."""
        with self._controlled() as control:
            async with aclosing(self._online.complete(requests, control)) as outcomes:
                async for outcome in outcomes:
                    yield outcome

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[TokenChunk, None]:
        """See `Engine.stream`; many at once."""
        if (refusal := self._refusal(request)) is not None:
            raise refusal
        with self._controlled() as control:
            async with aclosing(self._online.stream(request, control)) as chunks:
                async for chunk in chunks:
                    yield chunk

    def unsupported(self, request: EngineRequest) -> list[str]:
        """See `Engine.unsupported`."""
        if isinstance(request, PredictRequest):
            return ["ask"]
        if isinstance(request, ScoreRequest):
            return ["likelihood"]
        needs = Needs.of(request)
        return [*unable(needs, needs.resolved(self._facts)), *self._languages(request.prompt)]
