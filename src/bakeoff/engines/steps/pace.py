"""`Pace`: how many sequences at a time, and how much is read between two steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bakeoff.core.requests import Lane


@dataclass(frozen=True, slots=True)
class Pace:
    """Limits of the loop.

    Attributes:
        rows: most sequences at once of the lane `batch`. The better lanes may have half as many
            again (`chat`), or twice as many (`edit`), so that a full batch does not hold them up.
        tokens: most sequences times the longest of them.
        chunk: tokens of prompts that are read between two steps, while others are followed as
            they write.
        gulp: the same where nobody writes, or nobody looks.
        reserve: new tokens for which room must be left before another sequence joins.
    """

    rows: int
    tokens: int
    chunk: int = 128
    gulp: int = 512
    reserve: int = 64

    def most(self, lane: Lane) -> int:
        """How many sequences there may be, one of this lane included."""
        if self.rows == 1:
            return 1
        return self.rows + {"batch": 0, "chat": self.rows // 2, "edit": self.rows}[lane]

    def halved(self, rows: int, longest: int) -> Pace:
        """What to allow after so many sequences, the longest of this size, were too much."""
        return replace(
            self,
            rows=max(1, min(self.rows, rows // 2)),
            tokens=max(1, min(self.tokens, rows * longest // 2)),
        )
