"""Bodies of text-generation-inference's routes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from bakeoff.serving.body import NEVER, NOT_SET, Body
from bakeoff.serving.openai.bodies import Sampling
from bakeoff.serving.openai.formats import Wanted, wanted

NAMES = {
    "max_tokens": "parameters.max_new_tokens",
    "stop": "parameters.stop",
    "echo": "parameters.decoder_input_details",
    "logprobs": "parameters.top_n_tokens",
    "prompt": "inputs",
    "guided_json": "parameters.grammar",
    "guided_regex": "parameters.grammar",
}
"""OpenAI's field -> the same here."""


class GrammarBody(Body):
    """`parameters.grammar`: how a text has to look."""

    type: Literal["json", "json_schema", "regex"]
    value: Any


class Parameters(Body):
    """`parameters`: how to decode."""

    refused: ClassVar[dict[str, Any]] = {
        "best_of": (None, 1),
        "typical_p": (None, 1, 1.0),
        "truncate": NEVER,
        "watermark": NOT_SET,
        "adapter_id": NEVER,
    }

    max_new_tokens: int | None = Field(None, ge=1)
    do_sample: bool | None = None
    temperature: float | None = Field(None, gt=0, le=100)
    top_k: int | None = Field(None, ge=1, le=10**9)
    top_p: float | None = Field(None, gt=0, le=1)
    repetition_penalty: float | None = Field(None, gt=0, le=1000)
    frequency_penalty: float | None = Field(None, ge=-2, le=2)
    seed: int | None = None
    stop: list[str] | None = None
    return_full_text: bool | None = None
    details: bool | None = None
    decoder_input_details: bool | None = None
    top_n_tokens: int | None = Field(None, ge=0)
    grammar: GrammarBody | None = None

    def wanted(self) -> Wanted | None:
        """How the text has to look; None where any will do.

        Raises:
            CallerError: see `formats.wanted`.
        """
        if self.grammar is None:
            return None
        name = "guided_regex" if self.grammar.type == "regex" else "guided_json"
        found = wanted({name: self.grammar.value})
        return None if found is None else Wanted(found.grammar, NAMES[name])

    def sampling(self) -> Sampling:
        """The same as OpenAI's clients would say it; who sets how to sample samples."""
        samples = self.do_sample or any(
            one is not None for one in (self.temperature, self.top_k, self.top_p)
        )
        temperature = (self.temperature or 1.0) if samples else None
        return Sampling(
            max_tokens=self.max_new_tokens,
            temperature=0.0 if self.do_sample is False else temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            repetition_penalty=self.repetition_penalty,
            frequency_penalty=self.frequency_penalty,
            seed=self.seed,
            stop=[one for one in self.stop or () if one],
        )


class GenerateBody(Body):
    """`POST /generate` and `/generate_stream`."""

    model: str | None = None
    inputs: str
    parameters: Parameters | None = None

    def decoding(self) -> Parameters:
        """The parameters; none is the same as empty ones."""
        return self.parameters or Parameters()
