"""The rows of a run with what every model said: read back from the journals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bakeoff.core.errors import BakeoffError
from bakeoff.core.ports import Dataset, Task
from bakeoff.core.results import RowError, RowResult
from bakeoff.core.rows import TaskRow
from bakeoff.datasets.roles import RoleMap
from bakeoff.jobs.contender import Contender
from bakeoff.jobs.plan import plan_row
from bakeoff.store.files.journal import Damage, SegmentHeader, pick_rows


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """One model's results in the order of rows and repeats.

    Attributes:
        results: one for each row and repeat, up to the model's own limit of rows; rows that never
            ran are failures too.
        header: of the newest segment that a result came from, or None.
    """

    model: str
    results: tuple[RowResult, ...]
    header: SegmentHeader | None


NOT_RUN = RowError(code="cancelled", message="the run ended before this row", retryable=True)


def references_of(task: Task, row: TaskRow, any_reference: bool) -> tuple[str, ...]:
    """What metrics compare with; `any_reference` says whether some row of the data has one."""
    found = task.references(row)
    if not found and any_reference and task.blank_is_answer:
        return ("",)
    return found


def task_rows(dataset: Dataset, roles: RoleMap) -> Iterator[TaskRow]:
    """The rows through their roles."""
    return (roles.row(row) for row in dataset.rows())


def collect_answers(
    contender: Contender,
    rows: Iterable[TaskRow],
    repeats: int,
    folder: Path,
    error: BakeoffError | None,
    damage: Damage,
) -> ModelAnswers:
    """Join the plan with the journal.

    `error`, which ended the model as a whole, stands in for rows without a line of their own.
    """
    own = islice(rows, contender.entry.limit)
    planned = [p for row in own for p in plan_row(contender, row, repeats)]
    lines = pick_rows(folder, (p.key for p in planned), damage)
    stand_in = NOT_RUN if error is None else stored_error(error)
    results = []
    header = None
    for p in planned:
        line = lines.get(p.key)
        if line is None:
            results.append(
                RowResult(key=p.key, row=p.row.id, repeat=p.repeat, ok=False, error=stand_in)
            )
            continue
        result = line.row
        if result.row != p.row.id or result.repeat != p.repeat:
            result = result.model_copy(update={"row": p.row.id, "repeat": p.repeat})
        results.append(result)
        if header is None or line.header.attempt >= header.attempt:
            header = line.header
    return ModelAnswers(contender.id, tuple(results), header)


def missing_model(
    model: str, rows: Iterable[TaskRow], repeats: int, error: BakeoffError
) -> ModelAnswers:
    """The failures of a model that could not even be described."""
    stored = stored_error(error)
    results = tuple(
        RowResult(key="0" * 64, row=row.id, repeat=repeat, ok=False, error=stored)
        for row in rows
        for repeat in range(repeats)
    )
    return ModelAnswers(model, results, None)


def stored_error(error: BakeoffError) -> RowError:
    """An error as a row keeps it."""
    return RowError(code=error.code, message=error.message, retryable=error.retryable)
