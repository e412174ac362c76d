"""Walks through a JSON text piece by piece, so that a large array is never held as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

from bakeoff.core.errors import BadDataset
from bakeoff.datasets.jsonvalues import BadJson, decode
from bakeoff.datasets.table import MAX_RECORD

_BLOCK = 256 * 1024
_BLANK = " \t\r\n"


class Cursor:
    """A place in a JSON text.

    Attributes:
        line: line of that place, from 1.
    """

    def __init__(self, stream: TextIO, file: str) -> None:
        """`stream` translates line breaks to newlines, so that lines can be counted."""
        self.line = 1
        self._stream = stream
        self._file = file
        self._text = ""
        self._at = 0
        self._position = 1
        self._ended = False

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            start = self._at
            while start < len(self._text) and self._text[start] in _BLANK:
                start += 1
            self._move(start)
            if start < len(self._text):
                return self._text[start]
            if not self._more():
                return ""

    def take(self, expected: str) -> None:
        """Moves behind one character.

        Raises:
            BadDataset: there is another one.
        """
        found = self.peek()
        if found != expected:
            raise self._fault(f"expected {expected!r}, found {found!r}")
        self._move(self._at + 1)

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                made, end = decode(self._text, self._at)
            except BadJson as error:
                if error.cut and len(self._text) - self._at < MAX_RECORD and self._more():
                    continue
                if error.at is not None:
                    self._move(error.at)
                raise self._fault(str(error)) from error
            self._move(end)
            return made

    def items(self) -> Iterator[tuple[int, Any]]:
        """Elements of the array that begins here, with the line on which each begins."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            self.peek()
            line = self.line
            yield line, self.value()
            if self.peek() == "]":
                self.take("]")
                return
            self.take(",")

    def keys(self) -> Iterator[str]:
        """Keys of the object that begins here; the caller takes each value before the next key."""
        self.take("{")
        seen: set[str] = set()
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            if self.peek() != '"':
                raise self._fault("expected a key in double quotes")
            key = self.value()
            if key in seen:
                raise self._fault(f"the key {key!r} stands twice in one object")
            seen.add(key)
            self.take(":")
            yield key
            if self.peek() == "}":
                self.take("}")
                return
            self.take(",")

    def _more(self) -> bool:
        """Reads on; what lies behind is let go. False at the end."""
        if self._ended:
            return False
        # Doubling keeps the repeated attempts at one long value linear in its length.
        block = self._stream.read(max(_BLOCK, len(self._text) - self._at))
        if not block:
            self._ended = True
            return False
        self._text = self._text[self._at :] + block
        self._at = 0
        return True

    def _move(self, to: int) -> None:
        breaks = self._text.count("\n", self._at, to)
        if breaks:
            self.line += breaks
            self._position = to - self._text.rfind("\n", self._at, to)
        else:
            self._position += to - self._at
        self._at = to

    def _fault(self, message: str) -> BadDataset:
        return BadDataset(
            f"not JSON at position {self._position} of the line: {message}",
            file=self._file,
            line=self.line,
        )
