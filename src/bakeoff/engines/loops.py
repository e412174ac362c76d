"""Texts that fell into a loop, seen in their tokens: `looped` afterwards, `Loops` as they come."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_UNIT = 8
"""Most tokens of the piece that repeats, where a report counts loops."""
REPEATS = 20
"""How often a piece must stand in a row, where a report counts loops."""
LONGEST_PIECE = 64
"""The same where a loop ends the text: a sentence or a line of code."""


def looped(token_ids: Sequence[int]) -> bool:
    """Whether the same 1 to 8 tokens stand at least 20 times in a row, anywhere."""
    loops = Loops(REPEATS, LONGEST_UNIT)
    return any(loops.push(token) for token in token_ids)


def ends_in_loop(token_ids: Sequence[int], repeats: int) -> bool:
    """Whether `Loops` would end a text with these tokens."""
    loops, found = Loops(repeats), False
    for token in token_ids[-LONGEST_PIECE * repeats :]:
        found = loops.push(token)
    return found


class Loops:
    """Looks at the tokens of one text as they come."""

    def __init__(self, repeats: int, longest: int = LONGEST_PIECE) -> None:
        """A piece of 1 to `longest` tokens that stands `repeats` times in a row is a loop."""
        self._repeats = repeats
        self._last: list[int] = []
        self._runs = [
            0
        ] * longest  # for each length: tokens in a row that equal the one so far back

    def push(self, token: int) -> bool:
        """Take a token; whether the text ends in a loop now."""
        last, runs, found = self._last, self._runs, False
        for unit in range(1, min(len(last), len(runs)) + 1):
            runs[unit - 1] = runs[unit - 1] + 1 if last[-unit] == token else 0
            found = found or runs[unit - 1] >= unit * (self._repeats - 1)
        last.append(token)
        if len(last) > 2 * len(runs):
            del last[: -len(runs)]
        return found
