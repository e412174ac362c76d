"""`Following`: the tokens of one row, looked at as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bakeoff.engines.batch.rows import Row
from bakeoff.engines.loops import Loops
from bakeoff.engines.text.detokenize import Decode, StopSearch

OnTokens = Callable[[Sequence[int]], None]
"""Takes all tokens of a row after each step."""


class Following:
    """Decides after each token whether the text is complete.

    Attributes:
        row: whose tokens they are.
        ids: the tokens so far.
        ended: whether an end token or a stop string has come.
        looped: whether it repeats itself so often that it goes no further.
        done: whether the text is complete, by its end, by its limit or by a loop.
    """

    def __init__(self, row: Row, decode: Decode, show: OnTokens | None = None) -> None:
        self.row = row
        self.ids: list[int] = []
        self.ended = False
        self.looped = False
        self.done = False
        self._search = StopSearch(decode, row.stops) if row.stops else None
        self._loop = Loops(row.stop_loops) if row.stop_loops else None
        self._show = show

    def push(self, token: int) -> bool:
        """Take a token; True when the text is complete."""
        if self.done:
            return True
        self.ids.append(token)
        stops = self._search
        self.ended = token in self.row.end_ids or (stops is not None and stops.found(self.ids))
        self.looped = self._loop is not None and self._loop.push(token)
        self.done = self.ended or self.looped or len(self.ids) >= self.row.max_new
        if self._show is not None and not self.done:
            self._show(self.ids)
        return self.done
