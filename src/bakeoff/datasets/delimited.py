"""CSV and TSV. Cells are text and stay as they are: NA, null, True, 007 and 1.0 are words here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from bakeoff.core.errors import BadDataset, UnsupportedOption
from bakeoff.core.rows import Notice
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.delimiter import (
    CANDIDATES,
    Sample,
    find_delimiter,
    read_sample,
    spelled,
    take_sample,
)
from bakeoff.datasets.header import check_columns, shortened
from bakeoff.datasets.records import Records
from bakeoff.datasets.source import Source
from bakeoff.datasets.table import Record, Table
from bakeoff.datasets.text import Encoding, encoding_of, numbered_lines

# Spreadsheets write this first line, and hide it when they open the file.
_SEP = re.compile(r"^\"?sep=(.)\"?[\r\n]*$")
_NO_DELIMITERS = ('"', "\r", "\n", "\0")


class _Layout(NamedTuple):
    """How one file is read: `skip` leading lines do not belong to the table."""

    source: Source
    encoding: Encoding
    delimiter: str
    skip: int


def open_csv(source: Source, spec: DatasetSpec) -> Table:
    """A table whose delimiter is declared, or found among comma, semicolon, tab and pipe."""
    return _open(source, spec, None)


def open_tsv(source: Source, spec: DatasetSpec) -> Table:
    """A table whose delimiter is the tab."""
    return _open(source, spec, "\t")


def _open(source: Source, spec: DatasetSpec, usual: str | None) -> Table:
    encoding = encoding_of(source, spec.encoding)
    sample = take_sample(numbered_lines(source, encoding))
    notices: list[Notice] = []
    declared, skip = spec.delimiter, 0
    marked = _SEP.match(sample.lines[0][1]) if sample.lines else None
    if marked and len(sample.lines) > 1:
        skip = 1
        sample = Sample(sample.lines[1:], sample.whole)
        notices.append(Notice("sep-line", f"line 1 ({marked[0].strip()}) names the delimiter"))
        declared = declared or marked[1]
    delimiter = declared or usual or find_delimiter(sample, source.label)
    if delimiter in _NO_DELIMITERS:
        raise UnsupportedOption(
            f"delimiter {delimiter!r} cannot separate cells: write another character",
            option="delimiter",
        )
    layout = _Layout(source, encoding, delimiter, skip)
    line, columns = _header(layout)
    if len(columns) == 1:
        _one_column(sample, layout, columns[0], declared)
    notices.extend(check_columns(columns, source.label, line))
    _first_row(layout, columns)
    if declared is None and delimiter != (usual or ","):
        notices.append(Notice("delimiter", f"cells are separated by {spelled(delimiter)}s"))
    return Table(
        name=source.name,
        file=source.label,
        columns=columns,
        read=lambda: _rows(layout, columns),
        notices=tuple(notices),
    )


def _records(layout: _Layout, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    lines = numbered_lines(layout.source, layout.encoding)
    label = layout.source.label
    return iter(Records(islice(lines, layout.skip, None), layout.delimiter, label, columns))


def _header(layout: _Layout) -> tuple[int, tuple[str, ...]]:
    for line, cells in _records(layout, ()):
        return line, tuple(cells)
    raise BadDataset("there is nothing but empty lines in it", file=layout.source.label)


def _one_column(sample: Sample, layout: _Layout, name: str, declared: str | None) -> None:
    """One column is right only where no other delimiter would give more."""
    if declared is not None:
        return
    label = layout.source.label
    others = [r for r in (read_sample(sample, d, label) for d in CANDIDATES) if r.sound and r.rows]
    if others:
        best = others[0]
        raise BadDataset(
            f"the header {shortened(name)!r} has no {spelled(layout.delimiter)}, but "
            f"{spelled(best.delimiter)}s give {len(best.header)} columns: write format: csv"
            f" and delimiter: {best.delimiter!r}",
            file=label,
            line=1 + layout.skip,
        )


def _first_row(layout: _Layout, columns: tuple[str, ...]) -> None:
    if next(_rows(layout, columns), None) is None:
        listed = ", ".join(repr(shortened(name)) for name in columns)
        text = f"there are no rows under the header {listed}"
        raise BadDataset(text, file=layout.source.label, line=1 + layout.skip)


def _rows(layout: _Layout, columns: tuple[str, ...]) -> Iterator[Record]:
    records = _records(layout, columns)
    next(records)
    width = len(columns)
    for record in records:
        if len(record[1]) != width:
            raise _ragged(layout, columns, *record)
        yield record


def _ragged(layout: _Layout, columns: tuple[str, ...], line: int, cells: list[str]) -> BadDataset:
    width, found = len(columns), len(cells)
    given = f"{found} cell{'s' * (found != 1)} where the header has {width}"
    label = layout.source.label
    mark = spelled(layout.delimiter)
    if found < width:
        missing = [shortened(name) for name in columns[found:]]
        listed = ", ".join(map(repr, missing[:4])) + (", ..." if len(missing) > 4 else "")
        return BadDataset(
            f"{given}: {listed} and the {mark} before it are missing; write them, empty where "
            "there is no value",
            file=label,
            line=line,
            column=missing[0],
        )
    hint = f'quote (") cells that hold the delimiter {layout.delimiter!r}'
    if any(cell.startswith(' "') for cell in cells):
        hint += "; a quote opens a cell only where no blank stands before it"
    if width == 1:
        hint += ", or declare another `delimiter`"
    return BadDataset(
        f"{given}; the first too many is {shortened(cells[width])!r}: {hint}", file=label, line=line
    )
