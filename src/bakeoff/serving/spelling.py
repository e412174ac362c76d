"""How llama.cpp decodes, under the names that Ollama, which is built on it, has too."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from bakeoff.serving.body import Body
from bakeoff.serving.openai.bodies import Sampling


class LlamaDecoding(Body):
    """The fields that both have; how many tokens are written is spelled differently."""

    temperature: float | None = Field(None, ge=0, le=100)
    top_k: int | None = Field(None, ge=-1, le=10**9)
    top_p: float | None = Field(None, ge=0, le=1)
    min_p: float | None = Field(None, ge=0, le=1)
    repeat_penalty: float | None = Field(None, gt=0, le=1000)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    presence_penalty: float | None = Field(None, ge=-2, le=2)
    seed: int | None = None
    stop: list[str] | str | None = None

    @field_validator("stop", mode="before")
    @classmethod
    def _stop_is_text(cls, value: Any) -> Any:
        texts = value if isinstance(value, list) else [value]
        if value is not None and any(not isinstance(one, str) for one in texts):
            raise ValueError("has to be a list of texts")
        return [one for one in texts if one] if value is not None else None

    def said(self, most: int | None, **more: Any) -> Sampling:
        """The same as OpenAI's clients would say it.

        Args:
            most: new tokens; below 0 there is no limit.
            more: fields of `Sampling` that are said otherwise, or that only one of them has.
        """
        own = {
            "max_tokens": None if most is None or most < 0 else most,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "min_p": self.min_p,
            "frequency_penalty": self.frequency_penalty,
            "presence_penalty": self.presence_penalty,
            "repetition_penalty": self.repeat_penalty,
            "seed": self.seed,
            "stop": self.stop,
        }
        return Sampling(**(own | more))
