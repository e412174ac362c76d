"""`Row`: one text to generate, tokenised and with every setting resolved."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Literal

from bakeoff.core.errors import BakeoffError, Cancelled, EngineClosed
from bakeoff.core.requests import AnswerSpan, GenerateRequest, Grammar, Lane, PredictRequest
from bakeoff.engines.batch.decoding import Decoding


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request and when it reached the engine, by `time.perf_counter`."""

    request: GenerateRequest
    at: float


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A text to generate.

    Attributes:
        id: of the request.
        ids: what the model reads: the prompt, or the encoder's input.
        cut: tokens of the prompt that were dropped.
        decoding: settings; `max_new_tokens` is clipped to the room that is left.
        end_ids: tokens that end the text.
        stops: strings that end the text.
        first: token that the decoder must begin with, or None.
        start: token that the decoder reads first (encoder-decoder), or None.
        choice: index among the texts of the request.
        copies: how many equal texts this row stands for (greedy choices are all the same).
        logprobs: alternatives to report for each token, or None.
        prompt_logprobs: likewise for each token of the prompt.
        arrived: when the request reached the engine, by `time.perf_counter`.
        deadline: when it fails, by the same clock, or None.
        lane: who goes first where rows compete.
        scope: rows share a prefix cache only within one.
        grammar: that the text must follow, or None.
        stop_loops: how often a piece has to stand in a row to end the text, or None.
    """

    id: str
    ids: tuple[int, ...]
    cut: int
    decoding: Decoding
    end_ids: frozenset[int]
    stops: tuple[str, ...] = ()
    first: int | None = None
    start: int | None = None
    choice: int = 0
    copies: int = 1
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    arrived: float = 0.0
    deadline: float | None = None
    lane: Lane = "batch"
    scope: str = ""
    grammar: Grammar | None = None
    stop_loops: int | None = None

    @property
    def length(self) -> int:
        """Tokens read."""
        return len(self.ids)

    @property
    def max_new(self) -> int:
        """Most tokens written."""
        return self.decoding.max_new_tokens

    @property
    def lanes(self) -> int:
        """How many sequences the library computes for it."""
        return self.decoding.num_beams

    @property
    def computes(self) -> bool:
        """Whether the model has anything to do: something to write, or a prompt to tell of."""
        return self.max_new > 0 or self.prompt_logprobs is not None

    def late(self, now: float) -> bool:
        """Whether its deadline has passed."""
        return self.deadline is not None and now > self.deadline

    @property
    def group(self) -> tuple[object, ...]:
        """Rows of one batch have the same; greedy and sampled rows of all settings mix.

        What the library takes once a call is in it: beam search weighs a batch's limit.
        """
        one = self.decoding
        if one.num_beams == 1:
            return (self.start,)
        beams = (one.num_beams, one.early_stopping, one.length_penalty, one.n)
        return (self.start, *beams, one.max_new_tokens)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRow:
    """A continuation to score.

    Attributes:
        id: of the request.
        ids: what the model reads first: the context, or the encoder's input.
        target: tokens of the continuation.
        begin: what an encoder-decoder's decoder reads before the continuation.
        cut: tokens of the context that were dropped.
    """

    id: str
    ids: tuple[int, ...]
    target: tuple[int, ...]
    begin: tuple[int, ...] = ()
    cut: int = 0

    @property
    def group(self) -> None:
        """All rows may share a batch."""

    @property
    def length(self) -> int:
        """Tokens read."""
        return len(self.ids) + len(self.target)

    @property
    def max_new(self) -> int:
        """Nothing is written."""
        return 0

    @property
    def lanes(self) -> int:
        """One sequence."""
        return 1


@dataclass(frozen=True, slots=True, eq=False)
class PredictRow:
    """A question to an encoder, as the planner sees it."""

    request: PredictRequest
    at: float = 0.0

    @property
    def id(self) -> str:
        """Of the request."""
        return self.request.id

    @property
    def group(self) -> object:
        """Questions of one kind share a batch."""
        return type(self.request.ask)

    @property
    def length(self) -> int:
        """Tokens, roughly: the tokenizer has not seen it yet."""
        ask = self.request.ask
        text = ask.question + ask.context if isinstance(ask, AnswerSpan) else ask.text
        return 1 + len(text) // 4

    @property
    def max_new(self) -> int:
        """Nothing is written."""
        return 0

    @property
    def lanes(self) -> int:
        """One sequence."""
        return 1


@dataclass(eq=False)
class Control:
    """Lets the event loop stop what the compute thread does; safe across threads.

    Attributes:
        reason: why everything of this call stops, or None while it goes on.
        ids: requests that are to stop by themselves.
    """

    reason: Literal["cancelled", "closed"] | None = None
    ids: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def stop(self, reason: Literal["cancelled", "closed"]) -> None:
        """End everything within one step."""
        self.reason = self.reason or reason

    def abort(self, request_id: str) -> None:
        """End one request within one step."""
        with self._lock:
            self.ids = {*self.ids, request_id}

    def stopped(self, request_id: str) -> bool:
        """Whether this request is to stop."""
        return self.reason is not None or request_id in self.ids

    @property
    def quiet(self) -> bool:
        """Whether nothing was asked to stop: one cheap look for each step."""
        return self.reason is None and not self.ids

    def error(self) -> BakeoffError:
        """What a request that was stopped before it began fails with."""
        if self.reason == "closed":
            return EngineClosed("the engine was closed")
        return Cancelled("the caller cancelled the request")
