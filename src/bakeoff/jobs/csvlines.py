"""`CsvLines`: CSV that every reader, bakeoff's own included, reads as it was written."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Protocol


class Writable(Protocol):
    """What the csv library writes to."""

    def write(self, text: str, /) -> object:
        """Take a piece of text."""


class CsvLines:
    """Writes rows, each ended by a line feed.

    The csv library quotes a cell for the line end that it writes itself and no other: a row with
    a carriage return, which readers take for the end of a line, is quoted in every cell.
    """

    def __init__(self, file: Writable) -> None:
        self._plain = csv.writer(file, lineterminator="\n")
        self._quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(self, cells: Iterable[object]) -> None:
        """Write one row."""
        row = list(cells)
        returns = any(isinstance(cell, str) and "\r" in cell for cell in row)
        (self._quoted if returns else self._plain).writerow(row)
