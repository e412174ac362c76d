"""`baseline://NAME`: contenders that need no model.

`lead-3` gives the first three sentences, `copy` the source, `column/NAME` what a column of the
data already holds.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import InvalidRequest, UnsupportedOption
from bakeoff.core.modelfacts import Capabilities, EngineInfo, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, Timing, TokenChunk
from bakeoff.core.ports import Engine
from bakeoff.core.registry import unknown
from bakeoff.core.requests import (
    EngineRequest,
    GenerateRequest,
    PredictRequest,
    ScoreRequest,
    Source,
    Text,
)
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.pulling import each

_LEAD = re.compile(r"^lead-([1-9]\d?)$")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")


def describe_baseline(ref: ModelRef, hints: tuple[str, ...]) -> ModelFacts:
    """Facts of a baseline.

    Raises:
        UnknownName: a name other than `lead-N`, `copy` and `column/NAME`.
        InvalidRequest: `column/` without a name.
    """
    column = None
    if ref.name.startswith("column/"):
        column = ref.name.removeprefix("column/")
        if not column:
            raise InvalidRequest(
                "baseline://column/ lacks the column: write baseline://column/NAME"
            )
    elif ref.name != "copy" and not _LEAD.match(ref.name):
        raise unknown("baseline", ref.name, ("copy", "lead-3", "column/NAME"))
    return ModelFacts(
        ref=ref,
        identity=f"baseline:{'column' if column else ref.name}",
        capabilities=Capabilities(kind="seq2seq"),
        architecture="baseline",
        reads_column=column,
    )


async def open_baseline(facts: ModelFacts, options: EngineOptions, why: str) -> Engine:
    """Nothing is loaded."""
    return BaselineEngine(facts.ref.name, facts.capabilities, why)


def lead(text: str, sentences: int) -> str:
    """The first sentences of a text; line breaks end a sentence, as turns of a dialogue do."""
    parts = [part.strip() for part in _SENTENCE_END.split(text)]
    return " ".join([part for part in parts if part][:sentences])


class BaselineEngine(Engine):
    """Answers at once; its tokens are counted as blank-separated words."""

    def __init__(self, name: str, capabilities: Capabilities, why: str) -> None:
        self.capabilities = capabilities
        self.info = EngineInfo("baseline", "1", "cpu", "none", why)
        self._sentences = int(m.group(1)) if (m := _LEAD.match(name)) else None

    async def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncIterator[Completion | Failure]:
        """One after the other."""
        async for request in each(requests):
            yield self._answer(request)

    def _answer(self, request: GenerateRequest) -> Completion | Failure:
        if not isinstance(request.prompt, (Source, Text)):
            error = UnsupportedOption("a baseline reads plain text only", option="prompt")
            return Failure.of(request.id, error)
        text = request.prompt.text
        said = text if self._sentences is None else lead(text, self._sentences)
        return Completion(request.id, said, FinishReason.STOP, timing=Timing(0.0, 0.0, 0.0))

    async def stream(self, request: GenerateRequest) -> AsyncIterator[TokenChunk]:
        """The whole text as one piece."""
        outcome = self._answer(request)
        if isinstance(outcome, Failure):
            raise InvalidRequest(outcome.message)
        yield TokenChunk(request.id, outcome.text, finish=outcome.finish, usage=outcome.usage)

    async def score(
        self, requests: Iterable[ScoreRequest] | AsyncIterable[ScoreRequest]
    ) -> AsyncIterator[Likelihood | Failure]:
        """Fails each request: a baseline has no probabilities."""
        async for request in each(requests):
            yield Failure.of(request.id, UnsupportedOption("a baseline has no likelihoods"))

    async def predict(
        self, requests: Iterable[PredictRequest] | AsyncIterable[PredictRequest]
    ) -> AsyncIterator[Prediction | Failure]:
        """Fails each request: a baseline has no heads."""
        async for request in each(requests):
            yield Failure.of(request.id, UnsupportedOption("a baseline has no encoder head"))

    def unsupported(self, request: EngineRequest) -> list[str]:
        """Everything but plain generation; decoding settings do not apply."""
        return [] if isinstance(request, GenerateRequest) else [type(request).__name__]

    async def abort(self, request_id: str) -> None:
        """Nothing is ever in flight."""

    async def encode(self, text: str) -> list[int]:
        """A stable number for each word."""
        digests = (hashlib.sha256(word.encode()).digest() for word in text.split())
        return [int.from_bytes(d[:4], "big") for d in digests]

    async def decode(self, ids: Sequence[int]) -> str:
        """Not possible.

        Raises:
            UnsupportedOption: always.
        """
        raise UnsupportedOption("a baseline has no tokens to decode", option="decode")

    async def close(self) -> None:
        """Nothing to free."""
