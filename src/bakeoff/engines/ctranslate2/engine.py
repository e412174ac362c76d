"""`CTranslate2Engine`: what the ctranslate2 library can be asked; loads nothing heavy itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from bakeoff.core.errors import ModelError, ModelLoadFailed, OutOfMemory
from bakeoff.core.modelfacts import EngineInfo, ModelFacts
from bakeoff.core.ports import Engine
from bakeoff.core.registry import Registry
from bakeoff.core.requests import EngineRequest, GenerateRequest, PredictRequest, ScoreRequest
from bakeoff.core.rows import Notice
from bakeoff.engines.batch.engine import BatchEngine, on_own_thread
from bakeoff.engines.ctranslate2.able import HINTS, unable
from bakeoff.engines.needs import Needs
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.thread import ComputeThread
from bakeoff.engines.transformers.engine import open_transformers

if TYPE_CHECKING:
    from bakeoff.engines.ctranslate2.worker import Worker

_WORKERS: Registry[type[Worker]] = Registry(
    "worker", {"ctranslate2": "bakeoff.engines.ctranslate2.worker:Worker"}
)


async def open_ctranslate2(facts: ModelFacts, options: EngineOptions, why: str) -> Engine:
    """Load a model on a thread of its own, converted where it is not yet, and return when ready.

    Where `auto` chose the engine and the model does not convert, or model and conversion do not fit
    into memory together, transformers takes its place.

    Raises:
        ModelError: the model cannot be converted or loaded.
    """
    name = f"ctranslate2 {facts.ref.short_name}"
    try:
        thread, worker = await on_own_thread(
            name, lambda: _WORKERS.get("ctranslate2")(facts, options)
        )
    except (ModelLoadFailed, OutOfMemory) as error:
        if facts.ref.engine != "auto" or facts.ref.compute_type is not None:
            raise
        return await _instead(facts, options, error)
    return CTranslate2Engine(facts, thread, worker, why)


async def _instead(facts: ModelFacts, options: EngineOptions, error: ModelError) -> Engine:
    engine = await open_transformers(facts, options, "ctranslate2, which is faster, failed")
    text = f"ctranslate2 did not load it, transformers runs it: {error.message}"
    engine.notices = (*engine.notices, Notice("engine-fallback", text))
    return engine


class CTranslate2Engine(BatchEngine):
    """A model run by the ctranslate2 library, on a CPU.

    Greedy texts of any settings in `able`, beams that stop early, likelihoods of decoder-only
    models. What it does not do is named by `unsupported`.
    """

    hints: ClassVar[dict[str, str]] = HINTS

    def __init__(
        self, facts: ModelFacts, thread: ComputeThread, worker: Worker, why: str = ""
    ) -> None:
        info = EngineInfo(
            name="ctranslate2",
            version=worker.version,
            device="cpu",
            dtype=worker.loaded.dtype,
            why=why,
        )
        super().__init__(facts, info, thread, worker)
        scores = facts.capabilities.kind == "causal"
        self.capabilities = replace(facts.capabilities, likelihood=scores)
        self._facts = facts

    def unsupported(self, request: EngineRequest) -> list[str]:
        """See `Engine.unsupported`."""
        if isinstance(request, PredictRequest):
            return ["ask"]
        if isinstance(request, ScoreRequest):
            if not self.capabilities.likelihood:
                return ["likelihood"]
            return self._languages(request.context)
        return self._of_text(request)

    def _of_text(self, request: GenerateRequest) -> list[str]:
        needs = Needs.of(request)
        found = unable(needs, needs.resolved(self._facts), self._facts)
        return [*found, *self._languages(request.prompt)]
