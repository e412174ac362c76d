r"""CSV records from physical lines.

A cell that begins with `"` is quoted: it ends at the next single `"`, may hold delimiters and
line breaks, and `""` in it is one quote. A quote further inside an unquoted cell is text. After a
closing quote comes a delimiter or the end of the line; anything else is refused, because such a
file can be read in more than one way. Empty lines are skipped. Nothing is trimmed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from bakeoff.core.errors import BadDataset
from bakeoff.datasets.header import shortened
from bakeoff.datasets.table import MAX_RECORD

QUOTE = '"'
_SHOWN = 40
_BREAK = re.compile(r"\r\n|\r|\n")


class OpenQuote(BadDataset):
    """A quoted cell that does not end."""


class Records:
    """Iterates over (line on which the record begins, cells)."""

    def __init__(
        self,
        lines: Iterator[tuple[int, str]],
        delimiter: str,
        file: str,
        columns: Sequence[str] = (),
    ) -> None:
        """`columns` name the cells in error messages; without, cells are counted."""
        self._lines = lines
        self._delimiter = delimiter
        self._file = file
        self._columns = columns

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        delimiter = self._delimiter
        for number, line in self._lines:
            if QUOTE in line:
                yield number, self._quick(line) or self._split(number, line)
            elif body := line.rstrip("\r\n"):
                yield number, body.split(delimiter)

    def _quick(self, line: str) -> list[str] | None:
        """The cells where the record is this one line and fits; the library's parser is faster.

        It also refuses long cells (its limit belongs to the whole process and is left alone) and
        open quotes; those lines go to `_split`, which says what is wrong.
        """
        try:
            return next(csv.reader((line,), delimiter=self._delimiter, strict=True))
        except csv.Error:
            return None

    def _split(self, number: int, line: str) -> list[str]:
        cells: list[str] = []
        at = 0
        while True:
            if not line.startswith(QUOTE, at):
                end = line.find(self._delimiter, at)
                if end < 0:
                    cells.append(line[at:].rstrip("\r\n"))
                    return cells
                cells.append(line[at:end])
                at = end + 1
                continue
            close = line.find(QUOTE, at + 1)
            if close > 0 and not line.startswith(QUOTE, close + 1):
                cell, opened, at = line[at + 1 : close], number, close + 1
            else:
                opened = number
                cell, number, line, at = self._long(number, line, at + 1, len(cells))
            cells.append(cell)
            if at >= len(line) or line[at] in "\r\n":
                return cells
            if line[at] != self._delimiter:
                raise self._after_quote(opened, number, line[at:], len(cells) - 1)
            at += 1

    def _long(self, number: int, line: str, at: int, place: int) -> tuple[str, int, str, int]:
        """A quoted cell with quotes or line breaks inside; gives cell, line number, line, place."""
        opened = number
        pieces: list[str] = []
        size = 0
        while True:
            end = line.find(QUOTE, at)
            if end < 0:
                pieces.append(line[at:])
                size += len(line) - at
                number, line = self._next(opened, place, size)
                at = 0
            elif line.startswith(QUOTE, end + 1):
                pieces.append(line[at : end + 1])
                at = end + 2
            else:
                pieces.append(line[at:end])
                cell = "".join(pieces)
                if number > opened:
                    self._swallowed(cell, opened, number, place)
                return cell, number, line, end + 1

    def _next(self, opened: int, place: int, size: int) -> tuple[int, str]:
        following = next(self._lines, None)
        if following is None:
            raise OpenQuote(
                'a quote (") opens a cell here and is never closed: close it, double it ("") '
                "where it is text, or remove it",
                file=self._file,
                line=opened,
                column=self._name(place),
            )
        if size > MAX_RECORD:
            raise BadDataset(
                f"the cell that a quote opens here has more than {MAX_RECORD:,} characters: is "
                "its closing quote missing?",
                file=self._file,
                line=opened,
                column=self._name(place),
            )
        return following

    def _swallowed(self, cell: str, opened: int, closed: int, place: int) -> None:
        """Refuses a cell between two lone quotes that holds nothing but whole rows.

        Each quote was the whole of its cell; together they would hide all rows between them.
        """
        first, *middle, last = _BREAK.split(cell)
        mark = self._delimiter
        wanted = len(self._columns) - 1
        fits = (
            wanted > 0
            and (first == "" or first.startswith(mark))
            and (last == "" or last.endswith(mark))
            and first.count(mark) == wanted - place
            and last.count(mark) == place
            and all(line.count(mark) == wanted for line in middle)
        )
        if fits:
            raise BadDataset(
                f'a lone quote (") here is closed by a lone quote on line {closed}, which would '
                'hide the rows between them: double each ("") where it is text, or remove it',
                file=self._file,
                line=opened,
                column=self._name(place),
            )

    def _after_quote(self, opened: int, closed: int, rest: str, place: int) -> BadDataset:
        shown = rest.rstrip("\r\n")[:_SHOWN]
        where = "" if closed == opened else f" on line {closed}"
        return BadDataset(
            f"the quoted cell that opens here closes{where} before {shown!r}; expected the "
            f'delimiter {self._delimiter!r} or the end of the line: double ("") quotes that are '
            "text",
            file=self._file,
            line=opened,
            column=self._name(place),
        )

    def _name(self, place: int) -> str:
        return shortened(self._columns[place]) if place < len(self._columns) else str(place + 1)
