"""Rows of a data set become work: what to ask, and under which key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bakeoff.core.canonical import canonical
from bakeoff.core.errors import BadRow, BakeoffError, RowError
from bakeoff.core.keys import ask_payload, row_key
from bakeoff.core.ports import Ask, Dataset
from bakeoff.core.results import RowError as StoredError
from bakeoff.core.results import RowResult
from bakeoff.core.rows import TaskRow
from bakeoff.datasets.roles import RoleMap
from bakeoff.jobs.contender import Contender


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
