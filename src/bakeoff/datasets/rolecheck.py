"""One pass over all rows: repeated ids, blank references, cells of a wrong kind."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bakeoff.core.errors import BadDataset
from bakeoff.core.plural import verb
from bakeoff.core.ports import Dataset
from bakeoff.core.rows import Notice, Row, TaskRow
from bakeoff.datasets.header import shortened
from bakeoff.datasets.rolemap import RoleMap

_WORDS: dict[str, Callable[[TaskRow], str | None]] = {
    "source": lambda row: row.source,
    "question": lambda row: row.question,
    "context": lambda row: row.context,
}


@dataclass(slots=True)
class _Seen:
    """Counts, and 8 bytes for each id: a million ids take 8 MB."""

    rows: int = 0
    with_reference: int = 0
    blank_reference: int = 0
    """Rows whose reference is written and blank."""
    blank: dict[str, int] = field(default_factory=dict)
    ids: array[int] = field(default_factory=lambda: array("Q"))
    blank_id: Row | None = None


def check_rows(
    dataset: Dataset, roles: RoleMap, required: tuple[str, ...], blank_is_answer: bool = False
) -> RoleMap:
    """The same map with counts and notices; a guessed id column that is none is dropped.

    With `blank_is_answer`, a blank reference is one where other rows have a reference.

    Raises:
        BadDataset: a cell of a wrong kind; an id column that the spec names holds a blank, or one
            id twice (the message names both lines).
    """
    seen = _pass(dataset, roles, tuple(role for role in required if role in _WORDS))
    problem = _id_problem(dataset, roles, seen)
    notices = [*roles.notices, *_notices(roles, seen, blank_is_answer)]
    if problem is not None:
        if "id" not in roles.guessed:
            raise problem
        # A column that merely looks like an id must not end the run, nor name rows wrongly.
        text = f"rows are numbered, because {problem.message}"
        notices.append(Notice("id-not-used", text))
        roles = replace(
            roles,
            columns={role: names for role, names in roles.columns.items() if role != "id"},
            paths={role: paths for role, paths in roles.paths.items() if role != "id"},
            guessed=roles.guessed - {"id"},
        )
    return replace(
        roles, rows=seen.rows, with_reference=seen.with_reference, notices=tuple(notices)
    )


def _pass(dataset: Dataset, roles: RoleMap, words: tuple[str, ...]) -> _Seen:
    seen = _Seen()
    has_id = "id" in roles.paths
    for row in dataset.rows():
        task_row = roles.row(row)
        seen.rows += 1
        given = bool(task_row.references)
        seen.with_reference += given
        seen.blank_reference += not given and roles.is_written("reference", row.cells)
        for role in words:
            text = _WORDS[role](task_row)
            if text is None or not text.strip():
                seen.blank[role] = seen.blank.get(role, 0) + 1
        if has_id:
            written = roles.id_text(row)
            if not written and seen.blank_id is None:
                seen.blank_id = row
            seen.ids.append(_short(task_row.id))
    return seen


def _short(text: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _id_problem(dataset: Dataset, roles: RoleMap, seen: _Seen) -> BadDataset | None:
    if "id" not in roles.columns:
        return None
    column = shortened(roles.columns["id"][0])
    if seen.blank_id is not None:
        return BadDataset(
            f"the id is blank{_row(seen.blank_id)}: write one, or name no id column",
            file=roles.file,
            line=seen.blank_id.line,
            column=column,
        )
    values, counts = np.unique(np.asarray(seen.ids, dtype=np.uint64), return_counts=True)
    suspects = frozenset(int(value) for value in values[counts > 1])
    return _repeated(dataset, roles, suspects, column) if suspects else None


def _repeated(
    dataset: Dataset, roles: RoleMap, suspects: frozenset[int], column: str
) -> BadDataset | None:
    """Reads again and compares the texts themselves, so that a hash alone accuses nobody."""
    first: dict[str, Row] = {}
    for row in dataset.rows():
        text = roles.id_text(row) or ""
        if _short(text) not in suspects:
            continue
        if text in first:
            return BadDataset(
                f"the id {shortened(text)!r} stands twice, on {_place(first[text])} and "
                f"{_place(row)}: ids must differ; without an id column rows are numbered",
                file=roles.file,
                line=row.line,
                column=column,
            )
        first[text] = row
    return None


def _place(row: Row) -> str:
    return f"row {row.index + 1}" if row.line is None else f"line {row.line}"


def _row(row: Row) -> str:
    return "" if row.line is not None else f" in row {row.index + 1}"


def _notices(roles: RoleMap, seen: _Seen, blank_is_answer: bool) -> list[Notice]:
    found = []
    for role, count in seen.blank.items():
        name = shortened(roles.columns[role][0])
        have = verb(count, "has", "have")
        text = f"{count} of {seen.rows} rows {have} nothing in {name!r}, the {role}"
        found.append(Notice(f"blank-{role}", text, count))
    missing = seen.rows - seen.with_reference
    if blank_is_answer and seen.with_reference:
        missing -= seen.blank_reference
    if "reference" in roles.columns and missing:
        listed = ", ".join(repr(shortened(name)) for name in roles.columns["reference"])
        if seen.with_reference:
            have = verb(missing, "has", "have")
            text = f"{missing} of {seen.rows} rows {have} no reference in {listed}"
            found.append(Notice("references-missing", text, missing))
        else:
            text = f"no row has a reference: all cells of {listed} are blank"
            found.append(Notice("no-references", text, missing))
    return found
