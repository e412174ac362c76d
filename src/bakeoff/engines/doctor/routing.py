"""Which engines can run a model, and which `auto` takes for which kind of request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bakeoff.core.errors import BakeoffError, UnknownName
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.requests import GenerationParams
from bakeoff.engines import ENGINES
from bakeoff.engines.doctor.diagnosis import EngineExam, RouteTaken
from bakeoff.engines.needs import Needs
from bakeoff.engines.route import route

_GREEDY = Needs(params=GenerationParams(temperature=0.0, num_beams=1))
_SAMPLED = Needs(params=GenerationParams(temperature=1.0, num_beams=1))
_BEAMS = Needs(params=GenerationParams(temperature=0.0))


def kinds(facts: ModelFacts) -> dict[str, Needs]:
    """The kinds of request that this model can be put, and what each needs.

    Beams are those that the checkpoint asks for. Streamed texts are greedy ones as far as an engine
    is concerned: every engine streams.
    """
    if facts.capabilities.kind == "encoder":
        return {"prediction": Needs()}
    found = {"greedy": _GREEDY, "sampled": _SAMPLED}
    if (facts.defaults.num_beams or 1) > 1:
        found["beams"] = _BEAMS
    if facts.capabilities.likelihood:
        found["likelihood"] = Needs(likelihood=True)
    return {**found, "streaming": _GREEDY}


def routes(facts: ModelFacts) -> Iterator[RouteTaken]:
    """What the model's reference, as it is written, comes to for each kind of request."""
    for request, needs in kinds(facts).items():
        try:
            taken = route(facts, needs)
        except BakeoffError as error:
            yield RouteTaken(request, None, error.message)
        else:
            yield RouteTaken(request, taken.engine, taken.why)


def chosen(facts: ModelFacts) -> bool:
    """Whether the reference itself names an engine, or the arithmetic of one."""
    return facts.ref.engine != "auto" or facts.ref.compute_type is not None


def able(facts: ModelFacts) -> Iterator[EngineExam]:
    """Every engine that may be named for this model, and whether it takes it.

    Where the reference itself chooses, the others are left out: options may be meant for one alone.
    """
    taken_anyway = {one.engine for one in routes(facts)} - {None}
    for name in ENGINES:
        if chosen(facts) and name not in taken_anyway | {facts.ref.engine}:
            continue
        named = replace(facts, ref=facts.ref.model_copy(update={"engine": name}))
        try:
            taken = route(named, next(iter(kinds(facts).values())))
        except UnknownName:  # it belongs to a scheme of its own, such as fake://
            continue
        except BakeoffError as error:
            yield EngineExam(name, False, error.message)
        else:
            if taken.engine == name:
                yield EngineExam(name, True, taken.why)
