"""Several runs side by side, on the rows that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.canonical import digest
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.registry import unknown
from bakeoff.core.report import ComparedRow, MetricSummary, Score
from bakeoff.jobs.intervals import group_codes, scale_of, score_of
from bakeoff.jobs.ranking import rank
from bakeoff.jobs.tables import read_predictions
from bakeoff.stats.bootstrap import mean_intervals
from bakeoff.store.files.runfolder import RunFolder


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """One model of one run on the shared rows.

    Attributes:
        label: `run/model`.
        scores: metric to value and interval.
        failed: shared rows and repeats without a prediction.
    """

    label: str
    scores: dict[str, Score]
    failed: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Models of several runs, best first.

    Attributes:
        shared: rows that all runs have with equal inputs and references.
        compared: of these, rows that every model answered.
        left_out: for each run, rows that not all have.
        metrics: how to read the columns.
        ranked_by: metric of the order, or None.
        notes: what keeps figures from being comparable.
    """

    shared: int
    compared: int
    left_out: dict[str, int]
    metrics: dict[str, MetricSummary]
    models: tuple[ComparedModel, ...]
    ranked_by: str | None
    notes: tuple[str, ...]


def compare_runs(folders: Sequence[RunFolder], metric: str | None = None) -> Comparison:
    """Compare on the shared rows that every model answered; rows of a group are drawn together.

    Raises:
        InvalidRequest: the same run twice, or runs without a common row.
        UnknownName: `metric` is in none of the runs.
    """
    labels = _labels(folders)
    rows = {label: _rows(folder) for label, folder in zip(labels, folders, strict=True)}
    shared = set.intersection(*(set(of_run) for of_run in rows.values()))
    if not shared:
        raise InvalidRequest(f"{' and '.join(labels)} have no row in common: ids and inputs differ")
    metrics, notes = _metrics(labels, folders)
    whole = _corpus_metrics(folders)
    if metric in whole:
        raise InvalidRequest(f"{metric} {_NO_CORPUS}: order by one that is computed row by row")
    if metric is not None and metric not in metrics:
        raise unknown("metric", metric, tuple(metrics))
    if whole:
        notes = (*notes, f"{', '.join(whole)} {_NO_CORPUS}")
    order = sorted(shared)
    answers = [
        _answers(f"{label}/{model_id}", model_id, [rows[label][key] for key in order], metrics)
        for label, folder in zip(labels, folders, strict=True)
        for model_id in folder.read_report().models
    ]
    answered, coverage = _answered_by_all(answers)
    groups = group_codes([_group(rows.values(), key) for key in order])
    models = {found.label: _model(found, answered, groups, metrics) for found in answers}
    ranked_by = metric or next((n for n, m in metrics.items() if m.better), None)
    return Comparison(
        shared=len(shared),
        compared=int(answered.sum()),
        left_out={label: len(set(of_run) - shared) for label, of_run in rows.items()},
        metrics=metrics,
        models=tuple(models[label] for label in _order(models, ranked_by, metrics)),
        ranked_by=ranked_by,
        notes=(*coverage, *notes),
    )


def _labels(folders: Sequence[RunFolder]) -> list[str]:
    paths = [folder.path.resolve() for folder in folders]
    if len(set(paths)) < len(paths) or len(paths) < 2:
        raise InvalidRequest("compare takes at least two different runs")
    names = [path.name for path in paths]
    return [str(p) if names.count(p.name) > 1 else p.name for p in paths]


def _rows(folder: RunFolder) -> dict[str, ComparedRow]:
    folder.read_report()
    return {
        digest([row.row, row.inputs, list(row.references)]): row
        for row in read_predictions(folder.path)
    }


def _corpus_metrics(folders: Sequence[RunFolder]) -> tuple[str, ...]:
    found = (folder.read_report().metrics.items() for folder in folders)
    return tuple(
        dict.fromkeys(name for of_run in found for name, m in of_run if m.kind == "corpus")
    )


_NO_CORPUS = (
    "belongs to a whole run and not to its rows, so that it cannot be had for the shared rows "
    "alone; put the models into one spec to compare by it"
)


def _metrics(
    labels: Sequence[str], folders: Sequence[RunFolder]
) -> tuple[dict[str, MetricSummary], tuple[str, ...]]:
    found: dict[str, MetricSummary] = {}
    notes = []
    for label, folder in zip(labels, folders, strict=True):
        for name, summary in folder.read_report().metrics.items():
            if summary.kind != "row":
                continue
            first = found.setdefault(name, summary)
            if first.signature != summary.signature:
                notes.append(
                    f"{name} of {label} was made with other settings: {summary.signature!r} "
                    f"instead of {first.signature!r}"
                )
    return found, tuple(notes)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What one model made of the shared rows.

    Attributes:
        values: shape (rows, metrics), repeats averaged; NaN where nothing was measured.
        answered: shape (rows,), whether some repeat has a prediction.
        failed: rows and repeats without one.
    """

    label: str
    values: NDArray[np.float64]
    answered: NDArray[np.bool_]
    failed: int


def _answers(
    label: str, model_id: str, rows: Sequence[ComparedRow], metrics: dict[str, MetricSummary]
) -> _Answers:
    values = np.full((len(rows), len(metrics)), np.nan)
    answered = np.zeros(len(rows), dtype=bool)
    failed = 0
    for place, row in enumerate(rows):
        answers = [a for a in row.answers if a.model == model_id]
        answered[place] = any(a.ok for a in answers)
        failed += sum(not a.ok for a in answers)
        for column, name in enumerate(metrics):
            found = [v for a in answers if (v := a.scores.get(name)) is not None]
            if found:
                values[place, column] = sum(found) / len(found)
    return _Answers(label, values, answered, failed)


def _answered_by_all(models: Sequence[_Answers]) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """The rows that scores rest on, and a note where these are not all.

    A model that answered nothing has no say; where no row is left, each keeps its own.
    """
    rows = len(models[0].answered)
    some = [model.answered for model in models if model.answered.any()]
    answered = np.logical_and.reduce(some) if some else np.ones(rows, dtype=bool)
    count = int(answered.sum())
    if count == rows:
        return answered, ()
    if count == 0:
        note = "no shared row was answered by every model: scores rest on different rows"
        return np.ones(rows, dtype=bool), (note,)
    note = f"scores rest on the {count} of {rows} shared rows that every model answered"
    return answered, (note,)


def _group(runs: Iterable[Mapping[str, ComparedRow]], key: str) -> str | None:
    """A row's group in the first run that names one: it holds for the same row of the others."""
    return next((group for rows in runs if (group := rows[key].group) is not None), None)


def _model(
    found: _Answers,
    answered: NDArray[np.bool_],
    groups: NDArray[np.intp] | None,
    metrics: dict[str, MetricSummary],
) -> ComparedModel:
    matrix = np.where(answered[:, None], found.values, np.nan)
    scales = [scale_of(summary) for summary in metrics.values()]
    intervals = mean_intervals(matrix, scales=scales, groups=groups, seed=0) if metrics else []
    scores = {
        name: score_of(interval, int((~found.answered).sum()))
        for name, interval in zip(metrics, intervals, strict=True)
    }
    return ComparedModel(found.label, scores, found.failed)


def _order(
    models: Mapping[str, ComparedModel], metric: str | None, metrics: Mapping[str, MetricSummary]
) -> tuple[str, ...]:
    if metric is None:
        return tuple(models)
    return rank({k: m.scores[metric].value for k, m in models.items()}, metrics[metric].better)
