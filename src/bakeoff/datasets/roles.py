"""`map_roles`: which column of a data set plays which role of a task."""

from __future__ import annotations

from itertools import islice

from bakeoff.core.ports import Dataset, Roles
from bakeoff.core.rows import Notice
from bakeoff.core.specs import ColumnsSpec
from bakeoff.datasets.cells import Path
from bakeoff.datasets.guessing import MANY, Choice, Names, choose, names_of
from bakeoff.datasets.header import shortened
from bakeoff.datasets.rolecheck import check_rows
from bakeoff.datasets.rolemap import RoleMap

__all__ = ["RoleMap", "map_roles"]

_LOOKED_AT = 50


def map_roles(
    dataset: Dataset, spec: ColumnsSpec, roles: Roles, blank_is_answer: bool = False
) -> RoleMap:
    """Maps columns to roles and checks every row once.

    What `spec` names is taken; a role that it sets to null has no column; the rest is guessed by
    name (case, blanks, `_` and `-` do not count), and the guesses stand in the notices.
    `answers.text` leads into cells that hold objects. A reference of nothing but blanks counts as
    absent, unless `blank_is_answer` (see `Task.blank_is_answer`).

    Raises:
        UnknownName: a named column does not exist; near matches and all columns are listed.
        UnsupportedOption: a column is named for a role that the task does not have.
        InvalidSpec: a required role has no column; the message says what to write.
        BadDataset: ids that repeat or are blank, or a cell that holds a list or an object where a
            text is due; the message names the line.
    """
    names = names_of(dataset.columns, islice(dataset.rows(), _LOOKED_AT))
    choice = choose(names, spec, roles)
    paths = {
        role: tuple(_path(name, names) for name in columns)
        for role, columns in choice.columns.items()
    }
    found = RoleMap(
        file=getattr(dataset, "file", dataset.name),
        columns=choice.columns,
        paths=paths,
        guessed=frozenset(choice.guessed),
        off=choice.off,
        notices=_guesses(choice),
    )
    return check_rows(dataset, found, roles.required, blank_is_answer)


def _path(name: str, names: Names) -> Path:
    if name in names.columns:
        return (name,)
    column = max((c for c in names.columns if name.startswith(f"{c}.")), key=len)
    return (column, name[len(column) + 1 :])


def _guesses(choice: Choice) -> tuple[Notice, ...]:
    found = []
    if choice.guessed:
        pairs = "; ".join(
            f"{role} is {', '.join(repr(shortened(name)) for name in choice.columns[role])}"
            for role in choice.guessed
        )
        text = f"guessed from the names: {pairs}; write `columns:` to choose others"
        found.append(Notice("columns-guessed", text))
    if choice.off:
        text = f"no column is taken as {' or '.join(choice.off)}, as `columns:` says"
        found.append(Notice("columns-off", text))
    for role, alike in choice.unclear.items():
        listed = ", ".join(map(repr, alike))
        many = "[...]" if role in MANY else "..."
        text = f"no column was taken as {role}, several look like it: {listed}"
        found.append(Notice("column-unclear", f"{text}; write `columns: {{{role}: {many}}}`"))
    return tuple(found)
