"""Which engine runs a model, decided after the task."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import Protocol

from bakeoff._version import __version__
from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts, ModelKind
from bakeoff.core.registry import Registry
from bakeoff.core.rows import Notice
from bakeoff.engines import ENGINES
from bakeoff.engines.needs import Needs
from bakeoff.engines.proven import Standing, mode_of, read_proofs, standing

__all__ = ["Needs", "Route", "check_engine", "engine_and_version", "route"]

_LATER = {
    "llamacpp": "leave `engine: auto`: transformers reads GGUF files, dequantised once",
    "vllm": "leave `engine: auto`, or serve the model with vLLM and name it by `endpoint:`",
}
_OWN = frozenset({"fake", "baseline"})
"""Engines of a scheme of their own, which compute with no library."""
_REFERENCE = "transformers"
_LIBRARIES = {
    _REFERENCE: ("transformers", "torch"),
    "openvino": ("openvino", "openvino-genai"),
}
"""What an engine computes with, where that is not the one package of its name."""
_FASTER: dict[ModelKind, tuple[str, ...]] = {
    "seq2seq": ("ctranslate2",),
    "causal": ("openvino",),
}
"""What `auto` tries before transformers, best first."""
_UNIVERSAL = "runs every architecture and sets the reference for the text"


class Able(Protocol):
    """What an engine can run, known before it is loaded."""

    def __call__(self, facts: ModelFacts, needs: Needs) -> str | None:
        """Why it does not run this model for these needs, and what to do; None: it does."""


_ABLE: Registry[Able] = Registry(
    "engine",
    {
        name: f"bakeoff.engines.{name}.able:why_not"
        for name in ENGINES
        if name not in _OWN | {_REFERENCE}
    },
)


@dataclass(frozen=True, slots=True)
class Route:
    """The engine taken.

    Attributes:
        engine: a name in `ENGINES`.
        why: one sentence for the report.
        numerics: of the generation key: `exact`, or engine and version where the texts are not
            proven to be those of plain transformers; None leaves what the facts say.
        notices: what the report should say.
    """

    engine: str
    why: str
    numerics: str | None = None
    notices: tuple[Notice, ...] = ()


def route(facts: ModelFacts, needs: Needs | None = None) -> Route:
    """The engine for a model and what is asked of it.

    Raises:
        UnsupportedOption: the engine named does not exist here, or cannot do what is asked; the
            message says what to write instead.
    """
    needs = needs or Needs()
    scheme = facts.ref.scheme
    if scheme in _OWN:
        _refuse_scoring(facts, needs)
        return Route(scheme, f"{scheme}:// is an engine of its own")
    said = facts.ref.engine
    check_engine(said)
    _refuse_scoring(facts, needs)
    if said == _REFERENCE:
        return Route(_REFERENCE, "named by `engine:`")
    if said != "auto":
        return _named(said, "named by `engine:`", facts, needs)
    if facts.ref.compute_type is not None:
        return _named("ctranslate2", "has the `compute_type:` that is asked for", facts, needs)
    return _best(facts, needs)


def engine_and_version(name: str) -> str:
    """An engine with the versions of what it computes with; nothing heavy is imported."""
    if name in _OWN:
        return f"{name} of bakeoff {__version__}"
    libraries = _LIBRARIES.get(name, (name,))
    return ", ".join(f"{lib} {importlib.metadata.version(lib)}" for lib in libraries)


def check_engine(name: str) -> None:
    """Whether an engine of that name is there.

    Raises:
        UnsupportedOption: it is not; the message says what to write instead.
    """
    if name in _LATER:
        raise UnsupportedOption(
            f"engine {name!r} is not part of this version: {_LATER[name]}", option="engine"
        )


def _named(engine: str, why: str, facts: ModelFacts, needs: Needs) -> Route:
    reason = _ABLE.get(engine)(facts, needs)
    if reason is not None:
        raise UnsupportedOption(f"the {engine} engine does not run this: {reason}", option="engine")
    if _proven(engine, facts, needs) == "equal":
        return Route(engine, why, "exact")
    return Route(engine, why, engine_and_version(engine))


def _best(facts: ModelFacts, needs: Needs) -> Route:
    """The first faster engine that gives the same text, else transformers."""
    notices: tuple[Notice, ...] = ()
    why = _UNIVERSAL
    for engine in _FASTER.get(facts.capabilities.kind, ()):
        if _ABLE.get(engine)(facts, needs) is not None:
            continue
        found = _proven(engine, facts, needs)
        mode = mode_of(needs.resolved(facts))
        if found == "equal":
            version = engine_and_version(engine)
            said = f"faster, and its texts are proven equal ({facts.family}, {mode}, {version})"
            return Route(engine, said, "exact")
        if found == "unknown-version":
            notices = (_unknown_version(engine),)
        why = f"{engine} is not proven to give the same text ({facts.family}, {mode})"
    return Route(_REFERENCE, why, notices=notices)


def _proven(engine: str, facts: ModelFacts, needs: Needs) -> Standing:
    """Texts alone are proven, in full precision."""
    if needs.likelihood or facts.ref.compute_type not in (None, "float32"):
        return "unproven"
    return standing(engine, facts.family, needs.resolved(facts))


def _unknown_version(engine: str) -> Notice:
    known = ", ".join(one.version for one in read_proofs(engine))
    text = (
        f"{engine_and_version(engine)} is installed, whose texts were not compared with those of "
        f"transformers (known: {known or 'none'}): `engine: auto` takes transformers"
    )
    return Notice("engine-unproven", text)


def _refuse_scoring(facts: ModelFacts, needs: Needs) -> None:
    if needs.likelihood and not facts.capabilities.likelihood:
        raise UnsupportedOption(
            f"{facts.ref.uri} gives no likelihoods, which this task scores by: choose "
            "`method: generate`, or a generating model",
            option="method",
        )
