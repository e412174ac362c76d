"""`Decoding`: generation parameters with every blank filled in."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from bakeoff.core.requests import DEFAULT_MAX_NEW_TOKENS, GenerationParams

"""Most new tokens where neither the request nor the checkpoint says a number."""
DEFAULT_SEED = 0
"""Seed where the request gives none: the same request gives the same text."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How to decode one text; the neutral value of each field changes nothing.

    The names are those of `GenerationParams`; `temperature` 0 is greedy.
    """

    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS
    min_new_tokens: int = 0
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    num_beams: int = 1
    early_stopping: bool | Literal["never"] = False
    length_penalty: float = 1.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    no_repeat_ngram_size: int = 0
    stop: tuple[str, ...] = ()
    stop_ids: tuple[int, ...] = ()
    logit_bias: tuple[tuple[int, float], ...] = ()
    seed: int = DEFAULT_SEED
    n: int = 1

    @classmethod
    def resolve(cls, params: GenerationParams, defaults: GenerationParams) -> Decoding:
        """What the request says, else what the checkpoint says, else the neutral value."""
        merged = params.over(defaults)
        said = {f.name: getattr(merged, f.name) for f in fields(merged)}
        return cls(**{name: value for name, value in said.items() if value is not None})

    @property
    def sampled(self) -> bool:
        """Whether tokens are drawn."""
        return self.temperature > 0.0
