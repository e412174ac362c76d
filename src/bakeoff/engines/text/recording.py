"""`Record`: log-probabilities of one row, as far as they are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bakeoff.core.outputs import TokenLogprob


@dataclass(eq=False, slots=True)
class Record:
    """Grows while a row is read and written.

    Attributes:
        prompt: of the prompt's tokens; None for the first, which has none.
        new: of the tokens that were written.
    """

    prompt: list[TokenLogprob | None] = field(default_factory=list)
    new: list[TokenLogprob] = field(default_factory=list)


class Shows(Protocol):
    """Takes all tokens of a row after each step."""

    def __call__(self, ids: Sequence[int], record: Record | None = None, /) -> None:
        """`record` is given where the row wants log-probabilities."""
