"""A row seen through its column roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bakeoff.core.errors import BadDataset
from bakeoff.core.rows import Notice, Row, TaskRow
from bakeoff.core.specs import ColumnsSpec
from bakeoff.datasets.cells import (
    NotText,
    Path,
    follow,
    is_number,
    listed_texts,
    text_of,
    texts_of,
)
from bakeoff.datasets.header import shortened

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RoleMap:
    """Which column plays which role.

    Attributes:
        file: the data set, for error messages.
        columns: role to column names.
        paths: role to the same names, split where they lead into objects.
        guessed: roles whose columns the spec does not name.
        off: roles that have no column because the spec says so.
        rows: how many rows there are.
        with_reference: how many of them have a right answer that is more than blanks.
        notices: guesses, and what was noticed while checking the rows.
    """

    file: str
    columns: Mapping[str, tuple[str, ...]]
    paths: Mapping[str, tuple[Path, ...]]
    guessed: frozenset[str] = frozenset()
    off: tuple[str, ...] = ()
    rows: int = 0
    with_reference: int = 0
    notices: tuple[Notice, ...] = ()

    def shown(self) -> dict[str, str | list[str]]:
        """Role to column name, or to a list of them; as a spec writes it."""
        return {
            role: names[0] if len(names) == 1 else list(names)
            for role, names in self.columns.items()
        }

    def spec(self) -> ColumnsSpec:
        """The same map as a spec in which nothing is left to guess."""
        return ColumnsSpec.model_validate(self.shown() | dict.fromkeys(self.off))

    def row(self, row: Row) -> TaskRow:
        """The row for a task.

        References that hold only blanks are left out, and so are choices that are null or empty.
        A group of blanks is no group.

        Raises:
            BadDataset: a cell holds a list or an object where a text is due.
        """
        group = self._text(row, "group")
        choices = self._choices(row)
        references = self._many(row, "reference", texts_of)
        return TaskRow(
            index=row.index,
            id=self.id_text(row) or str(row.index + 1),
            source=self._text(row, "source") or ("" if "source" in self.paths else None),
            references=tuple(text for text in references if text.strip()),
            question=self._text(row, "question"),
            context=self._text(row, "context"),
            choices=choices,
            group=group if group and group.strip() else None,
            numeric=bool(references) and is_number(self._cells(row.cells, "reference")),
            cells=row.cells,
            line=row.line,
        )

    def is_written(self, role: str, cells: Mapping[str, Any]) -> bool:
        """Whether a cell of the role is there, be it blank: null and absent cells are not."""
        return bool(self._cells(cells, role))

    def _cells(self, cells: Mapping[str, Any], role: str) -> list[Any]:
        """What the cells of a role hold; null and absent ones are left out."""
        found = (follow(cells, path) for path in self.paths.get(role, ()))
        return [value for value in found if value is not None]

    def id_text(self, row: Row) -> str | None:
        """What the id column holds; None where that is nothing or only blanks."""
        text = self._text(row, "id")
        return text if text and text.strip() else None

    def _text(self, row: Row, role: str) -> str | None:
        paths = self.paths.get(role)
        if not paths:
            return None
        value = follow(row.cells, paths[0])
        return value if isinstance(value, str) else self._read(row, role, 0, text_of, value)

    def _many(self, row: Row, role: str, read: Callable[[Any], tuple[str, ...]]) -> tuple[str, ...]:
        found: tuple[str, ...] = ()
        for place, path in enumerate(self.paths.get(role, ())):
            found += self._read(row, role, place, read, follow(row.cells, path))
        return found

    def _choices(self, row: Row) -> tuple[str, ...]:
        # One column holds them all as a list; several columns hold one each.
        single = len(self.paths.get("choices", ())) == 1
        found = self._many(row, "choices", listed_texts if single else texts_of)
        return tuple(choice for choice in found if choice)

    def _read(self, row: Row, role: str, place: int, read: Callable[[Any], T], value: Any) -> T:
        try:
            return read(value)
        except NotText as error:
            column = self.columns[role][place]
            where = "" if row.line is not None else f" (row {row.index + 1})"
            raise BadDataset(
                f"{error}{where}; it is the {role}: name another column, or one inside it as "
                f"{column}.KEY",
                file=self.file,
                line=row.line,
                column=shortened(column),
            ) from error
