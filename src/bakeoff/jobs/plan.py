"""Rows of a data set become work: what to ask, under which key, and what is done already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bakeoff.core.canonical import canonical
from bakeoff.core.errors import BadRow, BakeoffError, RowError
from bakeoff.core.keys import ask_payload, row_key, what_changed
from bakeoff.core.ports import Ask, Dataset
from bakeoff.core.results import RowError as StoredError
from bakeoff.core.results import RowResult
from bakeoff.core.rows import TaskRow
from bakeoff.datasets.roles import RoleMap
from bakeoff.jobs.asking import asked_otherwise
from bakeoff.jobs.contender import Contender
from bakeoff.store.files.journal import JournalIndex


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One row and repeat for one model.

    Attributes:
        key: generation key.
        ask: what the model is asked; empty where the row cannot be asked.
        refused: why it cannot be asked, else None.
    """

    row: TaskRow
    repeat: int
    key: str
    ask: Ask = ()
    refused: BakeoffError | None = None

    @property
    def failure(self) -> RowResult:
        """The journal line of a row that cannot be asked."""
        error = self.refused or RowError("the row cannot be asked")
        stored = StoredError(code=error.code, message=error.message, retryable=False)
        return RowResult(key=self.key, row=self.row.id, repeat=self.repeat, ok=False, error=stored)


FIRST = 20
"""So many ids of rows that need work are named in the log."""


def planned_rows(
    contender: Contender,
    dataset: Dataset,
    roles: RoleMap,
    repeats: int,
    only: RowSet | None = None,
) -> Iterator[PlannedRow]:
    """Rows and repeats in the order of the file; repeats of a row stand together.

    `only` leaves out the rows that are not in it.
    """
    for row in islice(dataset.rows(), contender.entry.limit):
        if only is not None and row.index not in only:
            continue
        yield from plan_row(contender, roles.row(row), repeats)


def plan_row(contender: Contender, row: TaskRow, repeats: int) -> Iterator[PlannedRow]:
    """All repeats of one row."""
    refused: BakeoffError | None = None
    ask: Ask = ()
    try:
        ask = contender.task.ask(row, contender.facts, contender.entry.prompt)
        asked = ask_payload(ask)
        _refuse_half_characters(asked)
        payload = [asked, contender.task.answer_settings(row)]
    except RowError as problem:
        refused = problem
        payload = [["refused", problem.code, problem.message]]
    for repeat in range(repeats):
        key = row_key(contender.parts, payload, repeat)
        yield PlannedRow(row, repeat, key, ask, refused)


def _refuse_half_characters(payload: list[Any]) -> None:
    """No tokenizer takes a lone surrogate, and it would fail the batch rather than its row."""
    try:
        canonical(payload).decode()
    except UnicodeDecodeError as problem:
        raise BadRow(
            "the row holds half of a character (a lone surrogate such as \\ud800): repair the text"
        ) from problem


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a model still has to do.

    Attributes:
        total: rows times repeats.
        todo: keys without a settled row, each counted once.
        reused: rows and repeats that an earlier attempt settled.
        why: why rows of an earlier attempt do not count, in words.
        places: which rows of the data set need work, by `TaskRow.index`: later passes skip the
            others without asking what they ask.
        first: ids of the first rows that need work; where some changed, of those.
    """

    total: int
    todo: int
    reused: int
    why: tuple[str, ...]
    places: RowSet
    first: tuple[str, ...]


class RowSet:
    """A set of row indices, one bit each: a million rows take 125 kB."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, index: int) -> None:
        """Put a row in."""
        byte, bit = divmod(index, 8)
        if byte >= len(self._bits):
            self._bits.extend(bytes(byte + 1 - len(self._bits) + 4096))
        self._bits[byte] |= 1 << bit

    def __contains__(self, index: int) -> bool:
        byte, bit = divmod(index, 8)
        return byte < len(self._bits) and bool(self._bits[byte] >> bit & 1)


def outlook(
    contender: Contender,
    rows: Iterator[PlannedRow],
    index: JournalIndex,
    asked: dict[str, Any] | None = None,
) -> Outlook:
    """Count without keeping the rows; `asked` is what they are asked with, see `asked_with`."""
    total = reused = 0
    missing: set[bytes] = set()
    places = RowSet()
    first: dict[str, None] = {}
    changed: dict[str, None] = {}
    before: list[dict[str, Any]] = []
    parts = contender.parts.values
    for planned in rows:
        total += 1
        if index.settled(planned.key):
            reused += 1
            continue
        missing.add(bytes.fromhex(planned.key[:32]))
        places.add(planned.row.index)
        if len(first) < FIRST:
            first[planned.row.id] = None
        if len(changed) < FIRST:
            settings = index.asked(parts, planned.row.id, planned.repeat)
            if settings:
                changed[planned.row.id] = None
                told = [asked] if asked in settings else settings
                before += [one for one in told if one is not None and one not in before]
    why = _why(contender, index, bool(missing))
    if not why and changed:
        why = asked_otherwise(asked or {}, before)
    return Outlook(total, len(missing), reused, why, places, tuple(changed or first))


def _why(contender: Contender, index: JournalIndex, missing: bool) -> tuple[str, ...]:
    """What differs from the nearest settings that the journal knows."""
    if not missing or not index.parts:
        return ()
    new = contender.parts.values
    nearest = min((what_changed(old, new) for old in index.parts.values()), key=len)
    return tuple(nearest)
