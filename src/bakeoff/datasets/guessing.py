"""Column names for roles: what the spec names, else what a name suggests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.core.errors import InvalidSpec, UnknownName, UnsupportedOption
from bakeoff.core.ports import Roles
from bakeoff.core.registry import near_matches
from bakeoff.core.rows import Row
from bakeoff.core.specs import ColumnsSpec
from bakeoff.datasets.cells import inner_keys
from bakeoff.datasets.header import shortened

MANY = ("reference", "choices")
"""Roles that several columns, or a list, can fill."""

_SEPARATORS = re.compile(r"[\s_-]+")
_SUFFIX = re.compile(r"\d{1,2}|[a-h]")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Names:
    """Names that a role can have.

    Attributes:
        columns: of the data set.
        inner: `column.key` for cells that hold objects, as the first rows show them.
    """

    columns: tuple[str, ...]
    inner: tuple[str, ...]

    @property
    def listed(self) -> str:
        """For messages."""
        names = [shortened(name) for name in (*self.columns, *self.inner)]
        more = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
        return ", ".join(map(repr, names[:_SHOWN])) + more

    def __contains__(self, name: object) -> bool:
        return name in self.columns or name in self.inner


@dataclass(slots=True)
class Choice:
    """Role to column names, which roles were guessed, and which are to have no column."""

    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    off: tuple[str, ...] = ()
    guessed: list[str] = field(default_factory=list)
    unclear: dict[str, list[str]] = field(default_factory=dict)


def names_of(columns: Sequence[str], sample: Iterable[Row]) -> Names:
    """All names that a role can have."""
    inner: dict[str, None] = {}
    for row in sample:
        for column, value in row.cells.items():
            inner |= {f"{column}.{key}": None for key in inner_keys(value)}
    return Names(tuple(columns), tuple(name for name in inner if name not in columns))


def choose(names: Names, spec: ColumnsSpec, roles: Roles) -> Choice:
    """Columns for every role of a task.

    Raises:
        UnknownName: a column that the spec names does not exist.
        UnsupportedOption: the spec names a column for a role that the task does not have.
        InvalidSpec: a required role has no column.
    """
    known = (*roles.required, *roles.optional)
    choice = Choice(_said(names, spec, known), tuple(role for role in known if role in spec.off))
    for role in known:
        if role not in choice.columns and role not in choice.off:
            _guess(role, names, roles.guesses, choice)
    for role in roles.required:
        if role not in choice.columns:
            raise InvalidSpec(_missing(role, names, roles, choice))
    return choice


def _said(names: Names, spec: ColumnsSpec, known: Sequence[str]) -> dict[str, tuple[str, ...]]:
    said: dict[str, tuple[str, ...]] = {}
    for role in ColumnsSpec.model_fields:
        value = getattr(spec, role)
        if not value:
            continue
        columns = (value,) if isinstance(value, str) else tuple(value)
        if role not in known:
            raise UnsupportedOption(
                f"columns.{role}: this task has no role {role!r}; it has {', '.join(known)}",
                option=f"columns.{role}",
            )
        for column in columns:
            if column not in names:
                raise _unknown(role, column, names)
        said[role] = columns
    return said


def _unknown(role: str, column: str, names: Names) -> UnknownName:
    near = near_matches(column, (*names.columns, *names.inner))
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return UnknownName(
        f"columns.{role}: there is no column {column!r}: {hint}The data has {names.listed}",
        name=column,
        near=near,
    )


def _guess(role: str, names: Names, guesses: Mapping[str, Sequence[str]], choice: Choice) -> None:
    taken = {column for columns in choice.columns.values() for column in columns}
    free = [name for name in names.columns if name not in taken]
    for guess in guesses.get(role, ()):
        alike = [name for name in free if _plain(name) == _plain(guess)]
        exact = [name for name in alike if name == guess]
        if len(alike) > 1 and not exact:
            choice.unclear[role] = alike
            return
        found = tuple(exact or alike)
        if not found and role in MANY:
            found = _numbered(free, guess)
        found = tuple(filter(None, (_readable(name, names, role) for name in found)))
        if found:
            choice.columns[role] = found
            choice.guessed.append(role)
            return


def _readable(name: str, names: Names, role: str) -> str | None:
    """The name itself; the texts in it where it holds objects with texts; None for other ones."""
    inner = [n for n in names.inner if n.startswith(f"{name}.")]
    if not inner:
        return name
    text = f"{name}.text"
    return text if text in inner and role in MANY else None


def _numbered(names: Sequence[str], guess: str) -> tuple[str, ...]:
    """`summary1`, `summary2` for `summary`; `choice_a`, `choice_b` for `choices`."""
    for stem in (_plain(guess), _plain(guess).removesuffix("s")):
        found = [
            name
            for name in names
            if _plain(name).startswith(stem) and _SUFFIX.fullmatch(_plain(name)[len(stem) :])
        ]
        if len(found) > 1:
            return tuple(found)
    return ()


def _plain(name: str) -> str:
    return _SEPARATORS.sub("", name.casefold())


def _missing(role: str, names: Names, roles: Roles, choice: Choice) -> str:
    unclear = choice.unclear.get(role)
    if role in choice.off:
        reason = "the spec says that it has none"
    elif unclear:
        reason = f"several columns look like it ({', '.join(map(repr, unclear))})"
    else:
        guesses = ", ".join(roles.guesses.get(role, ())) or "none"
        reason = f"no column has one of the usual names ({guesses})"
    many = "[COLUMN, ...]" if role in MANY else "COLUMN"
    return (
        f"the task needs a column for {role!r} and {reason}: write `columns: {{{role}: {many}}}` "
        f"with one of {names.listed}"
    )
