"""Bodies of llama.cpp's routes."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from bakeoff.serving.body import EMPTY, NEVER, NOT_SET, Body
from bakeoff.serving.openai.bodies import Sampling, TokenId
from bakeoff.serving.openai.formats import Wanted, wanted
from bakeoff.serving.spelling import LlamaDecoding

NAMES = {
    "max_tokens": "n_predict",
    "repetition_penalty": "repeat_penalty",
    "logprobs": "n_probs",
    "suffix": "input_suffix",
    "response_format": "grammar",
}
"""OpenAI's field -> the same here."""


class LlamaSampling(LlamaDecoding):
    """What `/completion` and `/infill` have in common."""

    refused: ClassVar[dict[str, Any]] = {
        "ignore_eos": NOT_SET,
        "mirostat": (None, 0, False),
        "lora": EMPTY,
        "n_cmpl": (None, 1),
        "dry_multiplier": (None, 0, 0.0),
        "xtc_probability": (None, 0, 0.0),
        "typical_p": (None, 1, 1.0),
        "dynatemp_range": (None, 0, 0.0),
        "image_data": EMPTY,
        "response_fields": EMPTY,
    }

    model: str | None = None
    stream: bool | None = None
    n_predict: int | None = Field(None, ge=-2)
    n_probs: int | None = Field(None, ge=0)
    logit_bias: list[tuple[TokenId, float | bool]] | dict[TokenId, float] | None = None
    cache_prompt: bool | None = None
    id_slot: int | None = None
    n_keep: int | None = None
    t_max_predict_ms: int | None = None
    return_tokens: bool | None = None
    grammar: str | None = None
    json_schema: dict[str, Any] | None = None

    def wanted(self) -> Wanted | None:
        """How the text has to look; None where any will do.

        Raises:
            CallerError: see `formats.wanted`.
        """
        return wanted({"grammar": self.grammar, "json_schema": self.json_schema})

    def sampling(self) -> Sampling:
        """The same as OpenAI's clients would say it."""
        seed = None if self.seed is None or self.seed < 0 else self.seed
        return self.said(self.n_predict, seed=seed, logit_bias=self._biases())

    def _biases(self) -> dict[int, float] | None:
        """`false` bans a token; what is beyond OpenAI's range means no more than its end."""
        if self.logit_bias is None:
            return None
        said = self.logit_bias
        pairs = said.items() if isinstance(said, dict) else said
        return {token: _bias(value) for token, value in pairs}


def _bias(said: float | bool) -> float:
    return -100.0 if said is False else max(-100.0, min(100.0, float(said)))


Mixed = str | list[TokenId | str]
"""A prompt: text, token ids, or pieces of both."""


class CompletionBody(LlamaSampling):
    """`POST /completion`."""

    prompt: Mixed | list[Mixed]

    @field_validator("prompt", mode="before")
    @classmethod
    def _has_a_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            return value
        if not isinstance(value, list) or not value:
            raise ValueError("has to be a text, a list of texts and token ids, or a list of these")
        for one in value:
            if isinstance(one, bool) or not isinstance(one, (str, int, list)):
                raise ValueError("holds something that is no text, token id or list")
        kinds = {type(one) for one in value}
        if int in kinds and list in kinds:
            raise ValueError("mixes token ids and lists: put the ids into a list of their own")
        return value

    @property
    def several(self) -> bool:
        """Whether it is a list of prompts: of texts alone, or with lists in it."""
        return isinstance(self.prompt, list) and not any(isinstance(o, int) for o in self.prompt)


class Extra(Body):
    """Another file that helps to fill in."""

    filename: str = ""
    text: str = ""


class InfillBody(LlamaSampling):
    """`POST /infill`."""

    input_prefix: str = ""
    input_suffix: str = ""
    input_extra: Annotated[list[Extra], Field(max_length=256)] = Field(default_factory=list)
    prompt: str = ""


class EmbeddingBody(Body):
    """`POST /embedding`."""

    refused: ClassVar[dict[str, Any]] = {"embd_normalize": (None, 2), "image_data": NEVER}

    model: str | None = None
    content: str | list[str]
