"""Token ids become completions: cut at stop strings, with the reason why the text ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import BakeoffError, DeadlineExceeded
from bakeoff.core.outputs import Completion, Timing, TokenLogprob, Usage
from bakeoff.engines.batch.rows import Row
from bakeoff.engines.loops import ends_in_loop
from bakeoff.engines.text.detokenize import HALF, Decode, cut

Made = Completion | BakeoffError
"""What becomes of a row; an error is this row's alone."""


@dataclass(frozen=True, slots=True)
class Written:
    """What an engine's library wrote for a row.

    Attributes:
        ids: the new tokens, up to where the text was complete.
        first_token: when the first one was known, by `time.perf_counter`, or None.
        cancelled: whether it was ended from outside.
        late: whether it was ended by its deadline.
        logprobs: of the tokens, where they were asked for.
        prompt_logprobs: likewise of the prompt.
        cached: tokens of the prompt that did not have to be computed.
    """

    ids: Sequence[int]
    first_token: float | None = None
    cancelled: bool = False
    late: bool = False
    logprobs: tuple[TokenLogprob, ...] | None = None
    prompt_logprobs: tuple[TokenLogprob | None, ...] | None = None
    cached: int = 0


@dataclass(frozen=True)
class Finisher:
    """Makes the completions of one batch.

    Attributes:
        decode: token ids -> text, without special tokens.
        last: token that the checkpoint forces at the limit of a text, or None.
        began: when the batch began, by `time.perf_counter`.
        concurrency: how many rows share it.
    """

    decode: Decode
    last: int | None
    began: float
    concurrency: int

    def copies(self, row: Row, written: Written) -> list[Made]:
        """The equal texts of a row that stands for several choices."""
        made = self.one(row, written)
        if row.copies == 1 or not isinstance(made, Completion):
            return [made] * row.copies
        return [replace(made, choice=choice) for choice in range(row.copies)]

    def best(self, row: Row, beams: Sequence[Written]) -> list[Made]:
        """The texts of a row whose choices are the best beams, best first."""
        found = [self.one(row, written) for written in beams]
        return [
            replace(one, choice=at) if isinstance(one, Completion) else one
            for at, one in enumerate(found)
        ]

    def one(self, row: Row, written: Written) -> Made:
        """A text, or its deadline's error."""
        ids = written.ids
        ended = bool(ids) and ids[-1] in row.end_ids
        text, stopped = cut(self.decode(ids[:-1] if ended else ids), row.stops)
        if not (ended or stopped):
            text = text.rstrip(HALF)  # the limit may fall between the bytes of a character
        finish = self._finish(row, written, ended or stopped)
        if finish is None:
            return DeadlineExceeded("the row took longer than its deadline")
        first = written.first_token
        return Completion(
            id=row.id,
            text=text,
            finish=finish,
            token_ids=tuple(ids),
            usage=Usage(row.length, row.cut, written.cached, completion=len(ids)),
            timing=Timing(
                queued=self.began - row.arrived,
                first_token=None if first is None else first - row.arrived,
                done=time.perf_counter() - row.arrived,
            ),
            concurrency=self.concurrency,
            choice=row.choice,
            logprobs=written.logprobs,
            prompt_logprobs=written.prompt_logprobs,
            looped=not (ended or stopped) and _looped(row, ids),
        )

    def _finish(self, row: Row, written: Written, ended: bool) -> FinishReason | None:
        """Why the text ended; None for its deadline."""
        ids = written.ids
        full = len(ids) >= row.max_new
        if written.cancelled and not (ended or full):
            return FinishReason.CANCELLED
        if written.late and not (ended or full):
            return None
        forced = full and ended and ids[-1] == self.last
        return FinishReason.STOP if ended and not forced else FinishReason.LENGTH


def _looped(row: Row, ids: Sequence[int]) -> bool:
    """Whether the text repeats itself so often that it went no further; beams are not looked at."""
    return row.stop_loops is not None and row.lanes == 1 and ends_in_loop(ids, row.stop_loops)
