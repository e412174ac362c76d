"""Tokens become text: whole, cut at a stop string, or piece by piece as they come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

Decode = Callable[[Sequence[int]], str]
HALF = "\ufffd"
"""What a decoder shows for bytes that are not yet a character."""
_CLEANED = 4
"""Longest piece that a tokenizer's clean-up of spaces may still change (" n't")."""
_SPARE = 8
"""Tokens looked at beyond the length of a stop string, for those that show nothing."""


class Cut(NamedTuple):
    """A text up to the first stop string, and whether there was one."""

    text: str
    stopped: bool


def cut(text: str, stops: Sequence[str]) -> Cut:
    """The text before the stop string that begins first."""
    found = [place for stop in stops if (place := text.find(stop)) >= 0]
    return Cut(text[: min(found)], True) if found else Cut(text, False)


class StopSearch:
    """Finds out, token by token, whether a stop string has appeared."""

    def __init__(self, decode: Decode, stops: Sequence[str]) -> None:
        self._decode = decode
        self._stops = tuple(stops)
        # A token shows at least one byte, or nothing; the decoder may drop the first blank.
        self._window = max(len(stop.encode()) for stop in stops) + _SPARE

    def found(self, ids: Sequence[int]) -> bool:
        """Whether the text of these tokens holds a stop string near its end."""
        if not self._holds(ids[-self._window :]):
            return False
        return len(ids) <= self._window or self._holds(ids)

    def _holds(self, ids: Sequence[int]) -> bool:
        text = self._decode(ids)
        return any(stop in text for stop in self._stops)


class Pieces:
    """Gives out the text that no later token can change.

    Held back are: half characters, what may begin a stop string, bytes that are spelled as
    tokens of their own until a whole token follows, and blanks that the tokenizer may clean up.
    """

    def __init__(
        self,
        decode: Decode,
        stops: Sequence[str],
        is_byte: Callable[[int], bool] = lambda token: False,
        *,
        cleans: bool = False,
    ) -> None:
        self._decode = decode
        self._stops = tuple(stops)
        self._is_byte = is_byte
        self._cleans = cleans
        self.given = ""

    def more(self, ids: Sequence[int]) -> str:
        """What can be shown now, beyond what was; `ids` are all tokens so far."""
        if ids and self._is_byte(ids[-1]):
            return ""
        text = self._decode(ids)
        text = text[: self._safe(text)]
        return self._give(text) if text.startswith(self.given) else ""

    def rest(self, text: str) -> str:
        """The last piece, given the whole text."""
        return self._give(text) if text.startswith(self.given) else ""

    def shown(self, ids: Sequence[int], known: int) -> int:
        """How many of the tokens show nothing beyond what was given; `known` are known to."""
        for count in range(len(ids), known, -1):
            if self.given.startswith(self._decode(ids[:count])):
                return count
        return known

    def _give(self, text: str) -> str:
        piece = text[len(self.given) :]
        self.given = text if piece else self.given
        return piece

    def _safe(self, text: str) -> int:
        end = len(text.rstrip(HALF))
        if self._cleans:
            end = min(end, max(0, len(text) - _CLEANED))
        return min(_held(text[:end], self._stops), _held(text, self._stops), end)


def _held(text: str, stops: Sequence[str]) -> int:
    """Where the longest ending of `text` begins that may be the beginning of a stop string."""
    place = len(text)
    for stop in stops:
        for size in range(min(len(stop), len(text)), 0, -1):
            if text.endswith(stop[:size]):
                place = min(place, len(text) - size)
                break
    return place
