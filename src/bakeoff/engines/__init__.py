"""Layer 1: a model reference becomes text. The only place that imports torch and its kin.

`describe` says what a model is without loading its weights, `route` names the engine for what is
asked of it, `open_engine` loads it.
"""

from __future__ import annotations

from typing import Protocol

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.ports import Engine
from bakeoff.core.registry import Registry
from bakeoff.engines.options import EngineOptions


class EngineFactory(Protocol):
    """Loads a model; the class method `open` of each engine."""

    async def __call__(self, facts: ModelFacts, options: EngineOptions, why: str) -> Engine:
        """Load on the engine's own thread and return when it is ready.

        Raises:
            ModelError: the model cannot be loaded.
        """


class Describe(Protocol):
    """Says what a model is, reading configuration files alone."""

    def __call__(self, ref: ModelRef, hints: tuple[str, ...]) -> ModelFacts:
        """`hints` are keys of `task_specific_params`, best first.

        Raises:
            ModelError: the model does not exist or may not be read.
            UnknownName: `fake://` or `baseline://` with a wrong name.
        """


ENGINES: Registry[EngineFactory] = Registry(
    "engine",
    {
        "fake": "bakeoff.engines.fake:open_fake",
        "baseline": "bakeoff.engines.baseline:open_baseline",
        "transformers": "bakeoff.engines.transformers.engine:open_transformers",
        "ctranslate2": "bakeoff.engines.ctranslate2.engine:open_ctranslate2",
        "openvino": "bakeoff.engines.openvino.engine:open_openvino",
    },
)

DESCRIBERS: Registry[Describe] = Registry(
    "model scheme",
    {
        "fake": "bakeoff.engines.fake:describe_fake",
        "baseline": "bakeoff.engines.baseline:describe_baseline",
        "hf": "bakeoff.engines.facts:describe_checkpoint",
        "file": "bakeoff.engines.facts:describe_checkpoint",
    },
)


def describe(ref: ModelRef, hints: tuple[str, ...] = ()) -> ModelFacts:
    """What is known about a model before its weights are loaded."""
    return DESCRIBERS.get(ref.scheme)(ref, hints)


async def open_engine(
    name: str, facts: ModelFacts, options: EngineOptions | None = None, why: str = ""
) -> Engine:
    """Load a model with the engine of that name; `why` is kept for the report."""
    return await ENGINES.get(name)(facts, options or EngineOptions(), why)
