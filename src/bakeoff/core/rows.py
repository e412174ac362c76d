"""A row of a data set, and the same row seen through its column roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know: a warning with a stable code.

    Attributes:
        code: stable, kebab-case.
        text: one sentence.
        rows: how many rows it concerns, or None where it does not concern rows.
    """

    code: str
    text: str
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row as the file holds it.

    Attributes:
        index: 0 for the first row of the *file* (selection by `limit` or `sample` keeps it).
        cells: column name to value; text formats hold text only, JSON and Parquet also numbers,
            booleans, None and lists.
        line: line of the file on which the row begins (1 for the first), where there are lines.
    """

    index: int
    cells: Mapping[str, Any]
    line: int | None = None


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A row seen through its column roles; absent roles are None or empty.

    Attributes:
        index: as in `Row`.
        id: the id column's text, else the row's number from 1.
        source: text to summarise, translate, continue or classify; empty where its column has no
            value in this row, None where no column is the source.
        references: right answers; blank cells are left out.
        numeric: whether the data holds the references as numbers rather than as texts.
        question, context: for question answering.
        choices: for multiple choice, in order.
        group: rows with one value belong together (a document, a speaker, ...).
        cells: all cells, for templates.
        line: as in `Row`.
    """

    index: int
    id: str
    source: str | None = None
    references: tuple[str, ...] = ()
    question: str | None = None
    context: str | None = None
    choices: tuple[str, ...] = ()
    group: str | None = None
    numeric: bool = False
    cells: Mapping[str, Any] = field(default_factory=dict)
    line: int | None = None

    @property
    def place(self) -> str:
        """Where the row stands in its file, for messages."""
        return f"row {self.index + 1}" if self.line is None else f"line {self.line}"
