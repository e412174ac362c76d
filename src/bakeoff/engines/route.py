"""Which engine runs a model, decided after the task."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass

from bakeoff._version import __version__
from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.ports import ModelFacts

_LATER = {
    "ctranslate2": "leave `engine: auto`, which takes transformers: the same text, slower",
    "openvino": "leave `engine: auto`, which takes transformers: the same text, slower",
    "llamacpp": "leave `engine: auto`: transformers reads GGUF files, dequantised once",
    "vllm": "leave `engine: auto`, which takes transformers, or serve the model with vLLM and "
    "name it by `endpoint:`",
}


_LIBRARIES = {"transformers": ("transformers", "torch")}
"""What an engine computes with; the others are bakeoff's own."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the task asks of an engine.

    Attributes:
        likelihood: whether continuations are scored.
    """

    likelihood: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """The engine taken.

    Attributes:
        engine: a name in `ENGINES`.
        why: one sentence for the report.
    """

    engine: str
    why: str


def route(facts: ModelFacts, needs: Needs | None = None) -> Route:
    """The engine for a model and what is asked of it.

    Raises:
        UnsupportedOption: the engine named does not exist here, or cannot do what is asked; the
            message says what to write instead.
    """
    needs = needs or Needs()
    scheme = facts.ref.scheme
    if scheme in ("fake", "baseline"):
        _refuse_scoring(facts, needs)
        return Route(scheme, f"{scheme}:// is an engine of its own")
    check_engine(facts.ref.engine)
    _refuse_scoring(facts, needs)
    if facts.ref.engine == "transformers":
        return Route("transformers", "named by `engine:`")
    return Route("transformers", "runs every architecture and sets the reference for the text")


def engine_and_version(name: str) -> str:
    """An engine with the versions of what it computes with; nothing heavy is imported."""
    named = (f"{lib} {importlib.metadata.version(lib)}" for lib in _LIBRARIES.get(name, ()))
    return ", ".join(named) or f"{name} of bakeoff {__version__}"


def check_engine(name: str) -> None:
    """Whether an engine of that name is there.

    Raises:
        UnsupportedOption: it is not; the message says what to write instead.
    """
    if name in _LATER:
        raise UnsupportedOption(
            f"engine {name!r} is not part of this version: {_LATER[name]}", option="engine"
        )


def _refuse_scoring(facts: ModelFacts, needs: Needs) -> None:
    if needs.likelihood and not facts.capabilities.likelihood:
        raise UnsupportedOption(
            f"{facts.ref.uri} gives no likelihoods, which this task scores by: choose "
            "`method: generate`, or a generating model",
            option="method",
        )
