"""Which character separates the cells: found in the first records, never guessed in a tie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bakeoff.core.errors import BadDataset
from bakeoff.datasets.header import shortened
from bakeoff.datasets.records import OpenQuote, Records

CANDIDATES = (",", ";", "\t", "|")
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
_SAMPLE = 64 * 1024


class Sample(NamedTuple):
    """The first lines of a file.

    Attributes:
        lines: with their numbers.
        whole: whether the file ends with them.
    """

    lines: tuple[tuple[int, str], ...]
    whole: bool


class Reading(NamedTuple):
    """The sample as one delimiter reads it.

    Attributes:
        header: cells of the first record.
        rows: records after it.
        agreeing: those with as many cells as the header.
        broken: the message where quotes do not fit, else empty.
    """

    delimiter: str
    header: tuple[str, ...]
    rows: int
    agreeing: int
    broken: str

    @property
    def sound(self) -> bool:
        """More than one column, and every record has as many cells."""
        return len(self.header) > 1 and not self.broken and self.agreeing == self.rows

    @property
    def share(self) -> float:
        """How much of the sample fits, between 0 and 1."""
        return self.agreeing / (self.rows + bool(self.broken)) if self.rows else 0.0


def spelled(delimiter: str) -> str:
    """The delimiter as a word, else quoted."""
    return _NAMES.get(delimiter, repr(delimiter))


def take_sample(lines: Iterable[tuple[int, str]]) -> Sample:
    """About 64 Ki characters of lines."""
    taken: list[tuple[int, str]] = []
    size = 0
    for number, line in lines:
        taken.append((number, line))
        size += len(line)
        if size >= _SAMPLE:
            return Sample(tuple(taken), whole=False)
    return Sample(tuple(taken), whole=True)


def read_sample(sample: Sample, delimiter: str, file: str) -> Reading:
    """How one delimiter reads the sample."""
    records: Iterator[tuple[int, list[str]]] = iter(Records(iter(sample.lines), delimiter, file))
    cells: list[list[str]] = []
    broken = ""
    try:
        for _, record in records:
            cells.append(record)
    except OpenQuote as error:
        # The sample may end inside a cell; only in a whole file is that a fault.
        broken = error.message if sample.whole else ""
    except BadDataset as error:
        broken = error.message
    header = tuple(cells[0]) if cells else ()
    agreeing = sum(len(record) == len(header) for record in cells[1:])
    return Reading(delimiter, header, max(0, len(cells) - 1), agreeing, broken)


def find_delimiter(sample: Sample, file: str) -> str:
    """The delimiter of a sample.

    A delimiter is taken when it alone gives several columns in every record. Where none does, the
    one that fits most is taken, so that the fault is reported where it is.

    Raises:
        BadDataset: several delimiters read the file equally well.
    """
    readings = [read_sample(sample, d, file) for d in CANDIDATES]
    sound = [r for r in readings if r.sound]
    if len(sound) > 1 and any(r.rows for r in sound):
        raise BadDataset(_ambiguous(sound), file=file, line=_first(sample))
    if sound:
        return sound[0].delimiter
    wide = [r for r in readings if len(r.header) > 1]
    return max(wide, key=lambda r: r.share).delimiter if wide else CANDIDATES[0]


def _first(sample: Sample) -> int:
    return next((n for n, line in sample.lines if line.strip("\r\n")), 1)


def _ambiguous(sound: list[Reading]) -> str:
    seen = "; ".join(f"{spelled(r.delimiter)}s give {_names(r)}" for r in sound)
    write = " or ".join(
        f"delimiter: {'tab' if r.delimiter == chr(9) else repr(r.delimiter)}" for r in sound
    )
    return f"the delimiter is not clear: {seen}. Write {write}"


def _names(reading: Reading) -> str:
    listed = ", ".join(repr(shortened(name)) for name in reading.header[:6])
    return f"{len(reading.header)} columns {listed}"
