"""`Writer`: everything around the library's `generate` that engines of generative models share.

A batch of rows goes in, completions come out; one row's failure stays its own. On the compute
thread only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import BakeoffError, DeadlineExceeded
from bakeoff.core.outputs import Completion, Failure, Likelihood, Usage
from bakeoff.core.requests import ScoreRequest
from bakeoff.engines.batch.careful import Careful, unreadable
from bakeoff.engines.batch.rows import Arrived, Control, Row, ScoreRow
from bakeoff.engines.text import streaming
from bakeoff.engines.text.finishing import Made
from bakeoff.engines.text.following import OnTokens
from bakeoff.engines.text.reading import Reading

I = TypeVar("I")  # noqa: E741 - what comes in
R = TypeVar("R")


class Generates(Protocol):
    """Runs a batch of rows."""

    def run(
        self, rows: Sequence[Row], control: Control, show: OnTokens | None = None
    ) -> list[list[Made]]:
        """The texts of each row; `show` takes the tokens of a batch of one as they come."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, without special tokens."""


class Scores(Protocol):
    """Runs a batch of continuations."""

    def run(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood]:
        """A likelihood for each row."""


@dataclass(frozen=True)
class Writer:
    """A generative model's requests, from reading to failure.

    Attributes:
        careful: plans and runs batches of texts.
        scoring: the same for continuations.
        reading: makes rows of requests.
        generator: runs batches of texts.
        scorer: runs batches of continuations.
    """

    careful: Careful
    scoring: Careful
    reading: Reading
    generator: Generates
    scorer: Scores

    def rows(self, arrived: Sequence[Arrived]) -> tuple[list[Row], list[Failure]]:
        """Tokenise requests; those that cannot be answered fail alone."""
        found, failures = _each(arrived, lambda one: one.request.id, self.reading.intake.rows)
        return [row for rows in found for row in rows], failures

    def score_rows(self, requests: Sequence[ScoreRequest]) -> tuple[list[ScoreRow], list[Failure]]:
        """The same for score requests."""
        return _each(requests, lambda request: request.id, self.reading.score_reader.read)

    def complete(self, rows: Sequence[Row], control: Control) -> list[Completion | Failure]:
        """Generate a batch; a row that fails costs only itself."""
        live = [row for row in rows if not (settled(row) or control.stopped(row.id))]
        made = dict(zip(live, self._generate(live, control), strict=True))
        outcomes: list[Completion | Failure] = []
        for row in rows:
            found = made.get(row) or without_model(row, control)
            outcomes += [outcome(row, one, control) for one in found]
        return outcomes

    def _generate(
        self, rows: Sequence[Row], control: Control, telling: streaming.Telling | None = None
    ) -> list[list[Made]]:
        if not rows:
            return []
        show = telling.show if telling is not None else None
        made = self.careful.run(rows, lambda part: self.generator.run(part, control, show))
        return [[one] if isinstance(one, BakeoffError) else one for one in made]

    def score(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood | Failure]:
        """Score a batch; a row that fails costs only itself."""
        made = self.scoring.run(rows, lambda part: self.scorer.run(part, control))
        return [
            Failure.of(row.id, one) if isinstance(one, BakeoffError) else one
            for row, one in zip(rows, made, strict=True)
        ]

    def stream(self, arrived: Arrived, control: Control, push: streaming.Push) -> None:
        """Generate a request alone and push its chunks, choice after choice.

        Raises:
            BakeoffError: the request fails.
        """
        for row in self.read(arrived):
            if settled(row) or control.stopped(row.id):
                made: list[Made] = without_model(row, control)
                telling = None
            else:
                plain = row.lanes == 1 and row.logprobs is None  # else it comes whole
                telling = self.telling(row, push) if plain else None
                made = self._generate([row], control, telling)[0]
            for one in made:
                if isinstance(one, BakeoffError):
                    raise one
                if telling is not None:
                    telling.end(one)
                else:
                    push(streaming.whole(one))
                telling = None  # further copies of a greedy text come whole

    def read(self, arrived: Arrived) -> list[Row]:
        """The rows of one request.

        Raises:
            BakeoffError: it cannot be answered.
        """
        try:
            return self.reading.intake.rows(arrived)
        except BakeoffError:
            raise
        except Exception as error:  # see `_each`
            raise unreadable(error) from error

    def telling(self, row: Row, push: streaming.Push) -> streaming.Telling:
        """What makes chunks of a row's tokens."""
        bytes_, tokenizer = self.reading.special.byte_ids, self.reading.reader.tokenizer
        pieces = streaming.pieces_of(row, self.generator.decode, bytes_, tokenizer)
        return streaming.Telling(row, pieces, push)


def _each(
    items: Sequence[I], name: Callable[[I], str], read: Callable[[I], R]
) -> tuple[list[R], list[Failure]]:
    found: list[R] = []
    failures = []
    for item in items:
        try:
            found.append(read(item))
        except BakeoffError as error:
            failures.append(Failure.of(name(item), error))
        except Exception as error:  # a tokenizer may raise anything; it costs this row alone
            failures.append(Failure.of(name(item), unreadable(error)))
    return found, failures


def outcome(row: Row, made: Made, control: Control) -> Completion | Failure:
    """A text that was broken off because the engine closes is a failure."""
    if isinstance(made, BakeoffError):
        return Failure.of(row.id, made)
    if control.reason == "closed" and made.finish is FinishReason.CANCELLED:
        return Failure.of(row.id, control.error())
    return made


def settled(row: Row) -> bool:
    """Whether a row needs no computing: there is nothing to do, or it waited too long."""
    return not row.computes or row.late(time.perf_counter())


def without_model(row: Row, control: Control) -> list[Made]:
    """What a row gets that is not computed: it was stopped, is late, or may write nothing."""
    if control.reason is not None:
        return [control.error()]
    if row.computes and not control.stopped(row.id):
        return [DeadlineExceeded("the row waited longer than its deadline")]
    stopped = control.stopped(row.id)
    finish = FinishReason.CANCELLED if stopped else FinishReason.LENGTH
    usage = Usage(prompt=row.length, cut=row.cut)
    return [
        Completion(row.id, "", finish, usage=usage, choice=row.choice + copy)
        for copy in range(row.copies)
    ]
