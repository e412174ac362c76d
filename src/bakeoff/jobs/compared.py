"""Rows with the answers of all models side by side, as tables and page take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bakeoff.core.report import ComparedAnswer, ComparedRow, RowScore
from bakeoff.core.results import RowResult
from bakeoff.core.rows import TaskRow
from bakeoff.jobs.answers import ModelAnswers
from bakeoff.jobs.scoring import Scored


@dataclass(frozen=True, slots=True)
class Answered:
    """The rows of a run and what every model said.

    Attributes:
        rows: in order.
        models: results in the order of rows and repeats.
        references: row id to right answers.
    """

    rows: Sequence[TaskRow]
    models: Sequence[ModelAnswers]
    repeats: int
    references: Mapping[str, tuple[str, ...]]


def compared_rows(answered: Answered, scored: Scored) -> Iterator[ComparedRow]:
    """One for each row, in order; a model that was not asked a row has no answer there."""
    rows, models, repeats = answered.rows, answered.models, answered.repeats
    by_place = {m.model: _scores_by_place(scored, m.model) for m in models}
    for number, row in enumerate(rows):
        places = range(number * repeats, (number + 1) * repeats)
        answers = tuple(
            _answer(m.model, m.results[place], by_place[m.model].get(place, {}))
            for m in models
            for place in places
            if place < len(m.results)
        )
        yield ComparedRow(
            row=row.id,
            group=row.group,
            inputs=shown_inputs(row),
            references=answered.references[row.id],
            answers=answers,
        )


def shown_inputs(row: TaskRow) -> dict[str, str]:
    """The roles that have a value; without any, the plain cells."""
    roles = {"source": row.source, "question": row.question, "context": row.context}
    shown = {name: text for name, text in roles.items() if text is not None}
    if row.choices:
        shown["choices"] = "\n".join(row.choices)
    if not shown:
        shown = {name: str(cell) for name, cell in row.cells.items() if cell is not None}
    return shown


def _scores_by_place(scored: Scored, model: str) -> dict[int, dict[str, float | None]]:
    found: dict[int, dict[str, float | None]] = {}
    for name, scores in scored.by_model[model].items():
        for place, value in zip(scores.places, scores.scores.values, strict=True):
            found.setdefault(place, {})[name] = value
    return found


def _answer(model: str, result: RowResult, scores: dict[str, float | None]) -> ComparedAnswer:
    error = f"{result.error.code}: {result.error.message}" if result.error else None
    return ComparedAnswer(
        model=model,
        repeat=result.repeat,
        ok=result.ok,
        text=result.text,
        error=error,
        finish=result.finish,
        cut=result.usage.cut,
        looped=bool(result.extra.get("looped")),
        empty=result.ok and not (result.text or "").strip(),
        completion_tokens=result.usage.completion,
        seconds=result.timing.done,
        scores=scores,
        extra=result.extra,
    )


def row_scores(models: Sequence[ModelAnswers], scored: Scored) -> Iterator[RowScore]:
    """All scores, long."""
    for answers in models:
        for name, scores in scored.by_model[answers.model].items():
            for place, value, reason in zip(
                scores.places, scores.scores.values, scores.scores.reasons, strict=True
            ):
                result = answers.results[place]
                yield RowScore(
                    model=answers.model,
                    metric=name,
                    row=result.row,
                    repeat=result.repeat,
                    value=value,
                    reason=reason,
                )
