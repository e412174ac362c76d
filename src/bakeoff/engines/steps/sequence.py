"""`Seq`: a row on its way through the loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from bakeoff.core.outputs import TokenLogprob
from bakeoff.engines.batch.rows import Control, Row
from bakeoff.engines.text.detokenize import Decode
from bakeoff.engines.text.finishing import Made, Written
from bakeoff.engines.text.following import Following, OnTokens
from bakeoff.engines.text.recording import Record, Shows


class State(Enum):
    """Where a sequence is; only the scheduler changes it."""

    WAITING = "waiting"
    READING = "reading"
    WRITING = "writing"
    DONE = "done"


class Sink(Protocol):
    """Where the text of a row goes.

    Attributes:
        show: takes all tokens so far after each step that does not end the text, or None.
    """

    show: Shows | None

    def end(self, made: Sequence[Made]) -> None:
        """What became of the row, its copies included; called once."""


@dataclass(eq=False)
class Seq:
    """A row, what it has read and written, and where its text goes.

    Attributes:
        row: the row.
        control: how its call is stopped from outside.
        sink: takes the text.
        text: its tokens so far.
        state: where it is.
        read: tokens of `reading` that the model has read.
        cached: tokens of its prompt that did not have to be computed.
        began: when the model began to read it, by `time.perf_counter`, or None.
        first_token: when its first token was known, or None.
        company: most sequences that shared a step with it, itself included.
        alone: whether it is read by itself, because a pass that it took part in failed.
        record: log-probabilities of its tokens, where they were asked for.
    """

    row: Row
    control: Control
    sink: Sink
    text: Following
    state: State = State.WAITING
    read: int = 0
    cached: int = 0
    began: float | None = None
    first_token: float | None = None
    company: int = 1
    alone: bool = False
    record: Record = field(default_factory=Record)

    @classmethod
    def of(cls, row: Row, control: Control, sink: Sink, decode: Decode) -> Seq:
        """A row that waits."""
        record = Record()
        asked = row.logprobs is not None or row.prompt_logprobs is not None
        show = _recorded(sink.show, record) if sink.show is not None and asked else sink.show
        return cls(row, control, sink, Following(row, decode, show), record=record)

    @property
    def ids(self) -> list[int]:
        """The tokens that it wrote."""
        return self.text.ids

    @property
    def prompt(self) -> tuple[int, ...]:
        """What stands before its own tokens: the prompt, or what a decoder reads first."""
        row = self.row
        return row.ids if row.start is None else (row.start,)

    @property
    def reading(self) -> tuple[int, ...]:
        """What is to be read before the next token: more than the prompt where it was put back."""
        return (*self.prompt, *self.ids)

    @property
    def unread(self) -> int:
        """Tokens to read before the next token."""
        row = self.row
        before = 0 if row.start is None else row.length
        return before + len(self.prompt) + len(self.ids) - self.read

    @property
    def tells(self) -> bool:
        """Whether the model has yet to say how likely its prompt is."""
        return self.row.prompt_logprobs is not None and len(self.record.prompt) < len(self.prompt)

    @property
    def size(self) -> int:
        """Tokens that are kept for it in memory, roughly."""
        return self.row.length + len(self.ids)

    @property
    def watched(self) -> bool:
        """Whether somebody follows its text as it comes, or waits for it."""
        return self.sink.show is not None or self.row.lane != "batch"

    @property
    def stopped(self) -> bool:
        """Whether it is to stop, from outside or by its deadline."""
        return self.control.stopped(self.row.id) or self.row.late(time.perf_counter())

    def take(self, token: int, logprob: TokenLogprob | None) -> bool:
        """Write a token; True when the text is complete."""
        if self.first_token is None:
            self.first_token = time.perf_counter()
        if logprob is not None:
            self.record.new.append(logprob)
        return self.text.push(token)

    def put_back(self) -> None:
        """Everything it has read is forgotten; what it wrote stays."""
        self.state, self.read = State.WAITING, 0

    def written(self) -> Written:
        """What it wrote, for the finisher."""
        stopped = self.control.stopped(self.row.id)
        return Written(
            ids=self.ids,
            first_token=self.first_token,
            cancelled=stopped,
            late=not stopped and self.row.late(time.perf_counter()),
            logprobs=None if self.row.logprobs is None else tuple(self.record.new),
            prompt_logprobs=self._prompt_told(),
            cached=self.cached,
        )

    def _prompt_told(self) -> tuple[TokenLogprob | None, ...] | None:
        """What is known of the prompt; None where it was not asked for, or not read to its end."""
        asked = self.row.prompt_logprobs is not None and not self.tells
        return tuple(self.record.prompt) if asked else None


def _recorded(show: Shows, record: Record) -> OnTokens:
    return lambda ids: show(ids, record)
