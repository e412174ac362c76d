"""Several runs side by side, on the rows that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.core.canonical import digest
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.registry import unknown
from bakeoff.core.report import ComparedRow, MetricSummary, Score
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
        left_out: for each run, rows that not all have.
        metrics: how to read the columns.
        ranked_by: metric of the order, or None.
        notes: what keeps figures from being comparable.
    """

    shared: int
    left_out: dict[str, int]
    metrics: dict[str, MetricSummary]
    models: tuple[ComparedModel, ...]
    ranked_by: str | None
    notes: tuple[str, ...]


def compare_runs(folders: Sequence[RunFolder], metric: str | None = None) -> Comparison:
    """Compare on shared rows.

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
    if metric is not None and metric not in metrics:
        raise unknown("metric", metric, tuple(metrics))
    order = sorted(shared)
    models = [
        _model(f"{label}/{model_id}", model_id, [rows[label][key] for key in order], metrics)
        for label, folder in zip(labels, folders, strict=True)
        for model_id in folder.read_report().models
    ]
    ranked_by = metric or next((n for n, m in metrics.items() if m.better), None)
    return Comparison(
        shared=len(shared),
        left_out={label: len(set(of_run) - shared) for label, of_run in rows.items()},
        metrics=metrics,
        models=tuple(sorted(models, key=lambda m: _place(m, ranked_by, metrics))),
        ranked_by=ranked_by,
        notes=notes,
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


def _model(
    label: str, model_id: str, rows: Sequence[ComparedRow], metrics: dict[str, MetricSummary]
) -> ComparedModel:
    matrix = np.full((len(rows), len(metrics)), np.nan)
    failed = 0
    for place, row in enumerate(rows):
        answers = [a for a in row.answers if a.model == model_id]
        failed += sum(not a.ok for a in answers)
        for column, name in enumerate(metrics):
            values = [v for a in answers if (v := a.scores.get(name)) is not None]
            if values:
                matrix[place, column] = sum(values) / len(values)
    shares = [summary.scale is not None for summary in metrics.values()]
    intervals = mean_intervals(matrix, shares=shares, seed=0) if metrics else []
    scores = {
        name: Score(
            value=_number(interval.value),
            low=_number(interval.low),
            high=_number(interval.high),
            method=interval.method,
            n=interval.n,
            failed=failed,
        )
        for name, interval in zip(metrics, intervals, strict=True)
    }
    return ComparedModel(label, scores, failed)


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _place(
    model: ComparedModel, metric: str | None, metrics: dict[str, MetricSummary]
) -> tuple[bool, float]:
    score = model.scores.get(metric) if metric else None
    if metric is None or score is None or score.value is None:
        return (True, 0.0)
    return (False, score.value if metrics[metric].better == "lower" else -score.value)
