"""What an engine answers. Frozen; a failure is a value, not a gap."""

from __future__ import annotations

from dataclasses import dataclass, field

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import BakeoffError


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens counted by the model's own tokenizer.

    Attributes:
        prompt: tokens that the model read, after any cut.
        cut: tokens of the prompt that were dropped because it did not fit.
        cached: prompt tokens that did not have to be computed.
        completion: new tokens, the end marker included where one was produced.
    """

    prompt: int = 0
    cut: int = 0
    cached: int = 0
    completion: int = 0


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds since the request reached the engine; None where it was not observed.

    Attributes:
        queued: until the model began to read the prompt.
        first_token: until the first new token was known.
        done: until the text was complete.
    """

    queued: float | None = None
    first_token: float | None = None
    done: float | None = None


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token, its natural-log probability, and the best alternatives."""

    id: int
    text: str
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """A generated text.

    Attributes:
        id: of the request.
        text: without special tokens and without the stop string.
        finish: why it ended.
        token_ids: the new tokens, end marker included where one was produced.
        concurrency: how many requests shared the batch; latencies taken at different
            concurrency are not comparable.
        choice: index among the `n` texts of one request.
        logprobs: of the new tokens, where they were asked for.
        prompt_logprobs: of the prompt's tokens, the first of which has none; where asked for.
        looped: whether it was ended because it repeated itself, as the engine's options have it.
    """

    id: str
    text: str
    finish: FinishReason
    token_ids: tuple[int, ...] = ()
    usage: Usage = Usage()
    timing: Timing = Timing()
    concurrency: int = 1
    choice: int = 0
    logprobs: tuple[TokenLogprob, ...] | None = None
    prompt_logprobs: tuple[TokenLogprob | None, ...] | None = None
    looped: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that has no answer.

    Attributes:
        id: of the request.
        code: stable, from `core/codes.py`.
        message: for people.
        retryable: whether trying again may help.
    """

    id: str
    code: str
    message: str
    retryable: bool = False
    timing: Timing = Timing()

    @classmethod
    def of(cls, request_id: str, error: BakeoffError) -> Failure:
        """The failure that stands for a raised error."""
        return cls(request_id, error.code, error.message, error.retryable)


@dataclass(frozen=True, slots=True)
class TokenChunk:
    """A piece of a streamed text; the pieces add up to the completion's text.

    Attributes:
        text: may be empty; never half a character, never part of a stop string.
        token_ids: the tokens that this piece shows.
        finish: set on the last chunk alone.
        usage: set on the last chunk alone.
        looped: on the last chunk, as in `Completion`.
        logprobs: of `token_ids`, where they were asked for. A token comes with the piece that
            shows the last of it; those that show nothing come with a later one.
        prompt_logprobs: of the prompt's tokens, where asked for; set on the first chunk alone.
    """

    id: str
    text: str
    token_ids: tuple[int, ...] = ()
    finish: FinishReason | None = None
    usage: Usage | None = None
    choice: int = 0
    looped: bool = False
    logprobs: tuple[TokenLogprob, ...] | None = None
    prompt_logprobs: tuple[TokenLogprob | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How likely a continuation is.

    Attributes:
        token_ids: of the continuation.
        logprobs: natural logarithms, one for each token.
        best: the most likely token at each position.
    """

    id: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    best: tuple[int, ...]
    usage: Usage = Usage()

    @property
    def total(self) -> float:
        """Log-likelihood of the whole continuation."""
        return float(sum(self.logprobs))

    @property
    def is_greedy(self) -> bool:
        """Whether greedy decoding would have produced exactly this."""
        return self.token_ids == self.best


@dataclass(frozen=True, slots=True)
class Span:
    """An extracted answer.

    Attributes:
        text: the answer; empty where the context holds none.
        start: first character in the context; 0 without an answer.
        end: one past the last character.
        score: probability of this span, as the question-answering pipeline of transformers 4
            defined it: product of the start and end probabilities.
        no_answer: probability of "no answer", or None where the model was not asked.
    """

    text: str
    start: int
    end: int
    score: float
    no_answer: float | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A label and the probability of every label, in the model's own order."""

    label: str
    probabilities: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Vector:
    """An embedding."""

    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """An encoder's answer."""

    id: str
    value: Span | Labelled | Vector
    usage: Usage = Usage()
    timing: Timing = Timing()
    concurrency: int = 1
    notes: tuple[str, ...] = field(default=())


Outcome = Completion | Likelihood | Prediction | Failure
