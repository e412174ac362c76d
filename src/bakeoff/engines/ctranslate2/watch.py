"""`Watch`: looks at every token of a greedy batch as the library writes it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bakeoff.engines.batch.rows import Control, Row
from bakeoff.engines.text.detokenize import Decode
from bakeoff.engines.text.finishing import Written
from bakeoff.engines.text.following import Following, OnTokens


class Watch:
    """The library's callback for a batch: limits, stops, cancellation, deadlines.

    Called on a thread of the library, one call at a time for each batch.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        limits: Sequence[int],
        control: Control,
        decode: Decode,
        show: OnTokens | None = None,
    ) -> None:
        """`limits` are the rows' own limits; `show` takes the tokens of the only row."""
        self._control = control
        self._texts = [
            Following(_limited(row, limit), decode, show)
            for row, limit in zip(rows, limits, strict=True)
        ]
        self._first: list[float | None] = [None] * len(rows)
        self._cancelled: set[int] = set()
        self._late: set[int] = set()
        self._deadlines = any(row.deadline is not None for row in rows)

    def __call__(self, step: Any) -> bool:
        """Take a token of a row; True ends the row."""
        at = int(step.batch_id)
        text = self._texts[at]
        if self._first[at] is None:
            self._first[at] = time.perf_counter()
        if text.push(int(step.token_id)):
            return True
        if self._control.quiet and not self._deadlines:
            return False
        return self._outside(at, text.row)

    def _outside(self, at: int, row: Row) -> bool:
        if self._control.stopped(row.id):
            self._cancelled.add(at)
        elif row.late(time.perf_counter()):
            self._late.add(at)
        else:
            return False
        return True

    def written(self, at: int, last: int | None) -> Written:
        """What a row came to; `last` is forced where the text ran to its limit."""
        text = self._texts[at]
        stopped = at in self._cancelled or at in self._late
        if last is not None and not (stopped or text.ended or text.looped):
            text.ids.append(last)
        return Written(
            ids=text.ids,
            first_token=self._first[at],
            cancelled=at in self._cancelled,
            late=at in self._late,
        )


def _limited(row: Row, limit: int) -> Row:
    if limit == row.max_new:
        return row
    return replace(row, decoding=replace(row.decoding, max_new_tokens=limit))
