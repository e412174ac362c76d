"""Models of the zoo opened with options, compared with the library alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers

from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion
from bakeoff.core.ports import Engine
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from tests.contract.reference import Reference, Ties
from tests.contract.targets import Target, run
from tests.zoo import zoo_path

ROWS = 4


@contextmanager
def opened(
    folder: Path, engine_options: EngineOptions | None = None, **options: Any
) -> Iterator[Engine]:
    """The transformers engine on a folder."""
    facts = describe(ModelRef.parse(str(folder), **options))
    engine = run(open_engine("transformers", facts, engine_options or EngineOptions(threads=1)))
    try:
        yield engine
    finally:
        run(engine.close())


def bare(name: str, **options: Any) -> Any:
    """A model of the zoo as the library alone loads it, in float32."""
    causal = name in ("llama", "qwen2")
    loader = transformers.AutoModelForCausalLM if causal else transformers.AutoModelForSeq2SeqLM
    return loader.from_pretrained(zoo_path(name), dtype=torch.float32, **options).eval()


def made(engine: Engine, name: str, **settings: Any) -> list[Completion]:
    """Texts of some inputs of a model of the zoo."""
    found = run(engine.generate(Target(name).requests(ROWS, **settings)))
    for outcome in found:
        assert isinstance(outcome, Completion), outcome
    return list(found)


def texts(engine: Engine, name: str, **settings: Any) -> list[str]:
    """The same as strings."""
    return [completion.text for completion in made(engine, name, **settings)]


def assert_like(found: list[Completion], name: str, model: Any) -> None:
    """Texts that `made` gave are those of `model.generate`, one request alone, but for ties."""
    target, ties = Target(name), Ties()
    alone = Reference(target)
    alone.model = model
    for request, completion in zip(target.requests(ROWS), found, strict=True):
        ties.compare(alone, request, completion)
    assert ties.tokens > 20 * ROWS and ties.allowed, ties.ties


def model_of(engine: Engine) -> Any:
    """The model behind the engine."""
    return engine._worker.loaded.model  # type: ignore[attr-defined]
