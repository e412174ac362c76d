"""What tasks share whose references name one of several options: labels, or choices."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Settled
from bakeoff.core.rows import Notice, TaskRow
from bakeoff.core.specs import Reading, TaskSpec
from bakeoff.tasks.prompting import TextTask
from bakeoff.tasks.readings import WAYS, Cell, Census, ColumnReading, Tally, first_named

_PLACES: dict[Reading, str] = {
    "text": "by their texts",
    "index-from-0": "as numbers from 0",
    "index-from-1": "as numbers from 1",
    "letter": "as letters",
}


class NamingTask(TextTask):
    """References, and the columns that baselines read, name options by text, number or letter.

    Which of these is decided once for a column, from all its rows (see `settled`): "2" among the
    choices 1, 2, 3 may be the second or the third. A task that has not seen the rows takes the
    first that fits in each.
    """

    ways: ClassVar[tuple[Reading, ...]]
    """The readings that can be, best first."""
    stray: ClassVar[tuple[str, str]]
    """What is said of one reference, and of several, that name no option."""

    def __init__(self, spec: TaskSpec) -> None:
        super().__init__(spec)
        self._of_references = _said(spec)
        self._of_columns: Mapping[str, ColumnReading] = {}

    @abstractmethod
    def options(self, row: TaskRow) -> Sequence[str] | None:
        """What the row's reference may name; None where it may be any text."""

    def settled(
        self, rows: Iterable[TaskRow], columns: Sequence[str], reference: Sequence[str]
    ) -> Settled:
        """One reading for the references and one for each column that a baseline reads.

        The reading that finds an option for most cells; numbers and texts are decided apart where
        a column holds both. What names no option is counted, and is no reference.

        Raises:
            InvalidSpec: two readings find as many, and different ones.
        """
        given, read = self._counted(rows, columns)
        reading = self._of_references or _decided(given)
        task = copy.copy(self)
        task._of_references = reading
        task._of_columns = {
            column: reading if column in reference else _likeliest(census, reading)
            for column, census in read.items()
        }
        same = {way for _, way in given.tallies(reading)}
        if self.spec.reference_is == "auto" and len(same) == 1:
            task.spec = self.spec.model_copy(update={"reference_is": same.pop()})
        return Settled(task, task.spec, self._found(given, reading))

    def references(self, row: TaskRow) -> tuple[str, ...]:
        """The options that the references name; those that name none are left out."""
        options = self.options(row)
        if options is None:
            return row.references
        cells = (Cell(text, row.numeric) for text in row.references)
        found = (self._named(self._of_references, cell, options) for cell in cells)
        return tuple(option for option in found if option is not None)

    def payload(self, row: TaskRow, facts: ModelFacts) -> str:
        """For a baseline with a column: the option that it names, where it names one."""
        said = super().payload(row, facts)
        column, options = facts.reads_column, self.options(row)
        if column is None or not options:
            return said
        cell = Cell(said, _is_number(row.cells.get(column)))
        return self._named(self._of_columns.get(column), cell, options) or said

    def _named(
        self, reading: ColumnReading | None, cell: Cell, options: Sequence[str]
    ) -> str | None:
        if reading is None:
            return first_named(cell.text, options, self.ways)
        return reading.option(cell, options)

    def _counted(
        self, rows: Iterable[TaskRow], columns: Sequence[str]
    ) -> tuple[Census, dict[str, Census]]:
        given, read = Census(self.ways), {column: Census(self.ways) for column in columns}
        for row in rows:
            options = self.options(row)
            if not options:
                continue
            for text in row.references:
                given.add(Cell(text, row.numeric, row.place), options)
            for column, census in read.items():
                value = row.cells.get(column)
                if value is not None:
                    census.add(Cell(str(value), _is_number(value)), options)
        return given, read

    def _found(self, given: Census, reading: ColumnReading) -> tuple[Notice, ...]:
        found = []
        told = [_told(tally, way) for tally, way in given.tallies(reading) if way != "text"]
        if told and self.spec.reference_is == "auto":
            text = f"{' and '.join(told)}; set task.reference_is to read them otherwise"
            found.append(Notice("references-read", text))
        lost, shown = given.unknown(reading)
        if lost:
            cells = given.numbers.cells + given.texts.cells
            text = f"{lost} of {cells} references {self.stray[lost > 1]}: {shown}"
            found.append(Notice("references-unknown", text, lost))
        return tuple(found)


def _said(spec: TaskSpec) -> ColumnReading | None:
    way = spec.reference_is
    return None if way == "auto" else ColumnReading(way, way)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decided(census: Census) -> ColumnReading:
    """What the rows say.

    Raises:
        InvalidSpec: they say nothing.
    """
    for tally in (census.numbers, census.texts):
        _refuse_clash(tally)
    return ColumnReading(census.numbers.likely()[0], census.texts.likely()[0])


def _refuse_clash(tally: Tally) -> None:
    first, *others = tally.likely()
    if not others:
        return
    cell, *options = tally.clashes[first, others[0]]
    one, other = ("nothing" if option is None else repr(option) for option in options)
    raise InvalidSpec(
        f"the references can be read in two ways, which find as many answers ({tally.fits[first]} "
        f"of {tally.cells}) and not the same: {cell.text.strip()!r} in {cell.place} is {one} "
        f"{WAYS[first]} and {other} {WAYS[others[0]]}; set task.reference_is to {first} or "
        f"{others[0]}"
    )


def _likeliest(census: Census, references: ColumnReading) -> ColumnReading:
    """How a baseline's column is read: numbers in doubt as those of the references."""
    numbers = census.numbers.likely()
    like = references.numbers
    return ColumnReading(like if like in numbers else numbers[0], census.texts.likely()[0])


def _told(tally: Tally, way: Reading) -> str:
    text = f"{tally.fits[way]} of {tally.cells} references are read {_PLACES[way]}"
    if way == "index-from-0" and tally.fits[way] == tally.fits["index-from-1"]:
        text += " (none is 0: they may count from 1)"
    return text
