"""The rows of a run with what every model said: read back from the journals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bakeoff.core.errors import BakeoffError
from bakeoff.core.ports import Dataset, Task
from bakeoff.core.results import RowError, RowResult
from bakeoff.core.rows import Notice, TaskRow
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
    made: tuple[tuple[str, int], ...] = ()
    """Engine, version, device and precision in words, and how many answers they made."""


NOT_RUN = RowError(code="cancelled", message="the run ended before this row", retryable=True)


def references_of(
    task: Task, roles: RoleMap, rows: Sequence[TaskRow]
) -> dict[str, tuple[str, ...]]:
    """Row id to what metrics compare with.

    Where a blank is an answer and some row has a reference, a blank cell gives an empty one; a
    missing cell (null) gives none.
    """
    blank = task.blank_is_answer and any(row.references for row in rows)
    found = {}
    for row in rows:
        found[row.id] = task.references(row)
        if blank and not found[row.id] and roles.is_written("reference", row.cells):
            found[row.id] = ("",)
    return found


def blank_answers(references: Mapping[str, tuple[str, ...]]) -> list[Notice]:
    """What to say where blank cells are answers: data may lack them for another reason."""
    rows = sum(found == ("",) for found in references.values())
    if not rows:
        return []
    are = "row has a blank answer and is" if rows == 1 else "rows have a blank answer and are"
    text = (
        f"{rows} {are} scored as 'the context holds no answer'; "
        "set task.no_answer: false to leave them out"
    )
    return [Notice("blank-is-answer", text, rows)]


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
    # what a row asks is as long as the row: nothing but its name and key is kept
    planned = [
        (p.row.id, p.repeat, p.key) for row in own for p in plan_row(contender, row, repeats)
    ]
    lines = pick_rows(folder, (key for _, _, key in planned), damage)
    stand_in = NOT_RUN if error is None else stored_error(error)
    results = []
    header = None
    made: Counter[str] = Counter()
    for row_id, repeat, key in planned:
        line = lines.get(key)
        if line is None:
            missing = RowResult(key=key, row=row_id, repeat=repeat, ok=False, error=stand_in)
            results.append(missing)
            continue
        result = line.row
        if result.row != row_id or result.repeat != repeat:
            result = result.model_copy(update={"row": row_id, "repeat": repeat})
        results.append(result)
        made[_made_by(line.header)] += result.ok
        if header is None or line.header.attempt >= header.attempt:
            header = line.header
    counts = tuple((how, rows) for how, rows in made.items() if rows)
    return ModelAnswers(contender.id, tuple(results), header, counts)


def _made_by(header: SegmentHeader) -> str:
    return f"{header.engine} {header.version} on {header.device} in {header.dtype}"


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
