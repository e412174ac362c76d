"""How a column names labels or choices: by text, number or letter, one way for all its rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from bakeoff.core.specs import Reading
from bakeoff.tasks.choosing import same_option

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WAYS: dict[Reading, str] = {
    "text": "by its text",
    "index-from-0": "as a number from 0",
    "index-from-1": "as a number from 1",
    "letter": "as a letter",
}
"""Readings in the order in which equals are taken, and how they are said."""
_WHOLE = re.compile(r"(\d{1,5})(?:\.0+)?")
"""A whole number; pandas writes 1.0 where a column of them has gaps."""
_SHOWN = 3


class Cell(NamedTuple):
    """A value of the data: its text, whether the data holds a number there, and where it stands."""

    text: str
    number: bool = False
    place: str = ""


def named_option(reading: Reading, said: str, options: Sequence[str]) -> str | None:
    """The option that a text names under a reading, or None.

    A whole number is a place where the reading counts, a single letter where it is `letter`; all
    else, and everything under `text`, is the option's own text.
    """
    place = _place(reading, said)
    return _by_text(said, options) if place is None else _at(place, options)


def first_named(said: str, options: Sequence[str], ways: Sequence[Reading]) -> str | None:
    """The same for a text alone, without its column: the first reading that finds an option."""
    found = (named_option(way, said, options) for way in ways if way != "index-from-1")
    return next((option for option in found if option is not None), None)


def _place(reading: Reading, said: str) -> int | None:
    said = said.strip()
    if reading == "letter":
        alone = len(said) == 1 and said.isascii() and said.isalpha()
        return LETTERS.index(said.upper()) if alone else None
    whole = _WHOLE.fullmatch(said) if reading != "text" else None
    return int(whole[1]) - (reading == "index-from-1") if whole else None


def _at(place: int, options: Sequence[str]) -> str | None:
    return options[place] if 0 <= place < len(options) else None


def _by_text(said: str, options: Sequence[str]) -> str | None:
    found = same_option(said, options)
    whole = _WHOLE.fullmatch(said.strip()) if found is None and "." in said else None
    return same_option(whole[1], options) if whole else found


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """How the cells of a column are read: those that the data holds as numbers, and the texts."""

    numbers: Reading
    texts: Reading

    def option(self, cell: Cell, options: Sequence[str]) -> str | None:
        """The option that a cell names, or None."""
        return named_option(self.numbers if cell.number else self.texts, cell.text, options)


class Clash(NamedTuple):
    """A cell that two readings take for different options, or one of them for none."""

    cell: Cell
    first: str | None
    second: str | None


@dataclass(slots=True)
class Tally:
    """What the readings find for cells of one kind, in memory that does not grow with them.

    Attributes:
        fits: cells for which a reading finds an option.
        own: of these, those that it does not read by their text for want of a number or a letter.
        clashes: the first cell on which two readings do not agree.
        unknown: the first few different texts for which a reading finds none.
    """

    ways: tuple[Reading, ...]
    cells: int = 0
    fits: Counter[Reading] = field(default_factory=Counter)
    own: Counter[Reading] = field(default_factory=Counter)
    clashes: dict[tuple[Reading, Reading], Clash] = field(default_factory=dict)
    unknown: dict[Reading, list[str]] = field(default_factory=dict)

    def add(self, cell: Cell, options: Sequence[str]) -> None:
        """Count a cell."""
        said = cell.text
        self.cells += 1
        by_text = _by_text(said, options)
        found: dict[Reading, str | None] = {}
        for way in self.ways:
            place = _place(way, said)
            option = found[way] = by_text if place is None else _at(place, options)
            if option is None:
                self._keep(self.unknown.setdefault(way, []), said)
            else:
                self.fits[way] += 1
                self.own[way] += way == "text" or place is not None
        for pair in combinations(self.ways, 2):
            first, second = found[pair[0]], found[pair[1]]
            if first != second:
                self.clashes.setdefault(pair, Clash(cell, first, second))

    def _keep(self, kept: list[str], said: str) -> None:
        if len(kept) <= _SHOWN and said not in kept:
            kept.append(said)

    def likely(self) -> tuple[Reading, ...]:
        """The reading that finds most options; behind it those that find as many, and others.

        Of numbers that fit from 0 and from 1, as data sets do, from 0.
        """
        best = max(self.fits[way] for way in self.ways)
        if not best:
            return self.ways[:1]
        most = max(self.own[way] for way in self.ways if self.fits[way] == best)
        tied = [way for way in self.ways if (self.fits[way], self.own[way]) == (best, most)]
        if "index-from-0" in tied and "index-from-1" in tied:
            tied.remove("index-from-1")
        return (tied[0], *(way for way in tied[1:] if (tied[0], way) in self.clashes))

    def lost(self, way: Reading) -> int:
        """Cells for which a reading finds no option."""
        return self.cells - self.fits[way]


class Census:
    """The cells of one column; numbers and texts are counted apart, since both may be there."""

    def __init__(self, ways: tuple[Reading, ...]) -> None:
        self.numbers, self.texts = Tally(ways), Tally(ways)

    def add(self, cell: Cell, options: Sequence[str]) -> None:
        """Count a cell."""
        (self.numbers if cell.number else self.texts).add(cell, options)

    def tallies(self, reading: ColumnReading) -> list[tuple[Tally, Reading]]:
        """Those with cells, each with how it is read."""
        both = ((self.numbers, reading.numbers), (self.texts, reading.texts))
        return [(tally, way) for tally, way in both if tally.cells]

    def unknown(self, reading: ColumnReading) -> tuple[int, str]:
        """How many cells name no option, and the first of them in words."""
        tallies = self.tallies(reading)
        kept = [text for tally, way in tallies for text in tally.unknown.get(way, [])]
        shown = ", ".join(repr(text if len(text) <= 40 else f"{text[:39]}…") for text in kept[:3])
        more = ", ..." if len(kept) > _SHOWN else ""
        return sum(tally.lost(way) for tally, way in tallies), shown + more
