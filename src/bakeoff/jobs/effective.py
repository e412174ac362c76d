"""Generation settings that have an effect; one that has none is told, not shown as applied."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.requests import GenerationParams
from bakeoff.core.rows import Notice

_OF_SAMPLING = ("top_p", "top_k", "min_p", "seed")
_OF_BEAMS = ("length_penalty", "early_stopping")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a model, as far as it decides which settings matter.

    Attributes:
        own: settings of the model's entry in the spec.
        common: settings that the spec gives to every model.
        scored: whether answers are scored by likelihood, so that nothing is written.
    """

    own: GenerationParams
    common: GenerationParams
    scored: bool


def effective(
    params: GenerationParams, asked: Asked, facts: ModelFacts
) -> tuple[GenerationParams, tuple[Notice, ...]]:
    """The settings that change what this model answers, and a notice for those that do not.

    Only what the spec says is told: a checkpoint often brings settings for sampling that a
    greedy run does not use, and settings for all models pass over those that write nothing.

    Args:
        params: resolved settings.
        asked: where they come from, and what they are for.
        facts: the model.
    """
    said = {**asked.common.said(), **asked.own.said()}
    if _writes_nothing(facts):
        said = asked.own.said()
    notices = []
    for why, idle in _idle(params, asked, facts).items():
        useless = ", ".join(name for name in said if name in idle)
        if useless:
            notices.append(
                Notice("setting-without-effect", f"{useless} changes nothing, since {why}")
            )
        params = replace(params, **dict.fromkeys(idle))
    return params, tuple(notices)


def _idle(params: GenerationParams, asked: Asked, facts: ModelFacts) -> dict[str, tuple[str, ...]]:
    """Why settings have no effect -> which."""
    if _writes_nothing(facts):
        return {"this model is not asked to write token by token": tuple(params.said())}
    if asked.scored:
        return {"answers are scored by their likelihood and not written": tuple(params.said())}
    idle: dict[str, tuple[str, ...]] = {}
    if not params.sampled:
        idle["temperature is 0"] = _OF_SAMPLING
    if (params.num_beams or 1) == 1:
        idle["num_beams is 1"] = _OF_BEAMS
    return idle


def _writes_nothing(facts: ModelFacts) -> bool:
    return facts.capabilities.kind == "encoder" or facts.ref.scheme == "baseline"
