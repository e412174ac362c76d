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


def planned_rows(
    contender: Contender, dataset: Dataset, roles: RoleMap, repeats: int
) -> Iterator[PlannedRow]:
    """Every row and repeat in the order of the file; repeats of a row stand together."""
    for row in islice(dataset.rows(), contender.entry.limit):
        yield from plan_row(contender, roles.row(row), repeats)


def plan_row(contender: Contender, row: TaskRow, repeats: int) -> Iterator[PlannedRow]:
    """All repeats of one row."""
    refused: BakeoffError | None = None
    ask: Ask = ()
    try:
        ask = contender.task.ask(row, contender.facts, contender.entry.prompt)
        payload = ask_payload(ask)
        _refuse_half_characters(payload)
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
    """

    total: int
    todo: int
    reused: int
    why: tuple[str, ...]


def outlook(contender: Contender, rows: Iterator[PlannedRow], index: JournalIndex) -> Outlook:
    """Count without keeping the rows."""
    total = reused = 0
    missing: set[bytes] = set()
    for planned in rows:
        total += 1
        if index.settled(planned.key):
            reused += 1
        else:
            missing.add(bytes.fromhex(planned.key[:32]))
    return Outlook(total, len(missing), reused, _why(contender, index, len(missing)))


def _why(contender: Contender, index: JournalIndex, missing: int) -> tuple[str, ...]:
    """What differs from the nearest settings that the journal knows."""
    if not missing or not index.parts:
        return ()
    new = contender.parts.values
    nearest = min((what_changed(old, new) for old in index.parts.values()), key=len)
    if nearest:
        return tuple(nearest)
    return ("rows, cells or prompts are new or changed",) if len(index) else ()
