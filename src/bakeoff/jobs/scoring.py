"""Metrics over all models at once: settings that depend on the text are the same for all."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.core.errors import DependencyMissing, InvalidSpec, MetricFailed
from bakeoff.core.ports import Metric, MetricInput, Scores
from bakeoff.core.registry import unknown
from bakeoff.core.rows import Notice, TaskRow
from bakeoff.jobs.answers import ModelAnswers


@dataclass(frozen=True, slots=True)
class ModelScores:
    """One metric output of one model.

    Attributes:
        family: the metric's name.
        places: for each score, the index of its result in `ModelAnswers.results`.
        scores: over the model's scored results alone.
    """

    model: str
    family: str
    places: tuple[int, ...]
    scores: Scores


@dataclass(frozen=True, slots=True)
class Scored:
    """All scores of a run, and what could not be computed.

    Attributes:
        causes: metrics that failed, and the traceback of each, for the log.
    """

    by_model: dict[str, dict[str, ModelScores]]
    notices: tuple[Notice, ...]
    causes: tuple[tuple[str, str], ...] = ()


def runnable(metrics: Sequence[Metric]) -> tuple[list[Metric], list[Notice]]:
    """The metrics that can run here, and a notice for each that cannot: it costs only itself.

    Raises:
        BakeoffError: an option is wrong, which is the caller's to mend.
    """
    kept: list[Metric] = []
    notices: list[Notice] = []
    for metric in metrics:
        try:
            metric.check()
        except (DependencyMissing, MetricFailed) as problem:
            text = f"{metric.name} is left out: {problem.message}"
            notices.append(Notice("metric-left-out", text))
        else:
            kept.append(metric)
    return kept, notices


def check_deciding(name: str, metrics: Sequence[Metric]) -> None:
    """Whether models can be ranked by `decide.metric`, a metric of the run or one of its numbers.

    Raises:
        UnknownName: the run has no such metric; near matches are named.
        InvalidSpec: neither of its ends is better.
    """
    directed = {o.name: o.better is not None for metric in metrics for o in metric.outputs()}
    for metric in metrics:
        directed.setdefault(metric.name, any(o.better for o in metric.outputs()))
    if name not in directed:
        raise unknown("metric in decide.metric", name, tuple(directed))
    if not directed[name]:
        raise InvalidSpec(
            f"decide.metric is {name!r}, of which neither more nor less is better; name another"
        )


def metric_inputs(
    answers: ModelAnswers, rows: dict[str, TaskRow], references: dict[str, tuple[str, ...]]
) -> tuple[list[MetricInput], list[int]]:
    """What the metrics see of a model, and from which results it comes."""
    inputs, places = [], []
    # Baselines and encoders write no tokens: that is no length of 0.
    counted = any(result.usage.completion for result in answers.results)
    for place, result in enumerate(answers.results):
        if not result.ok or result.text is None:
            continue
        row = rows[result.row]
        extra = {
            **result.extra,
            "completion_tokens": result.usage.completion if counted else None,
            "prompt_tokens": result.usage.prompt,
        }
        source = row.source if row.source is not None else row.context
        inputs.append(
            MetricInput(
                row=row.id,
                repeat=result.repeat,
                prediction=result.text,
                references=references[row.id],
                source=source,
                extra=extra,
            )
        )
        places.append(place)
    return inputs, places


def score_all(
    metrics: Sequence[Metric],
    models: Sequence[ModelAnswers],
    rows: dict[str, TaskRow],
    references: dict[str, tuple[str, ...]],
) -> Scored:
    """Run every metric once over the answers of all models; a failing metric costs only itself."""
    inputs: list[MetricInput] = []
    spans: list[tuple[str, int, list[int]]] = []
    for answers in models:
        own, places = metric_inputs(answers, rows, references)
        spans.append((answers.model, len(inputs), places))
        inputs += own
    by_model: dict[str, dict[str, ModelScores]] = {answers.model: {} for answers in models}
    notices: list[Notice] = []
    causes: list[tuple[str, str]] = []
    for metric in metrics:
        try:
            found = metric.score(inputs)
        except Exception as problem:  # a library may raise anything; the metric is named as failed
            failed = MetricFailed(f"{metric.name} could not be computed: {problem}")
            notices.append(Notice("metric-failed", failed.message))
            causes.append((metric.name, "".join(traceback.format_exception(problem))))
            continue
        for scores in found:
            notices += scores.notices
            for model, start, places in spans:
                part = _slice(scores, start, start + len(places))
                by_model[model][scores.output.name] = ModelScores(
                    model, metric.name, tuple(places), part
                )
    return Scored(by_model, tuple(notices), tuple(causes))


def _slice(scores: Scores, start: int, end: int) -> Scores:
    return Scores(
        output=scores.output,
        values=scores.values[start:end],
        reasons=scores.reasons[start:end],
        statistics=None if scores.statistics is None else scores.statistics[start:end],
        combine=scores.combine,
        signature=scores.signature,
    )


@dataclass(frozen=True, slots=True)
class RowUnits:
    """A model's scores by row, repeats averaged: what resampling draws from.

    Attributes:
        rows: row ids in order of the data.
        values: shape (rows,); NaN where nothing was measured.
        statistics: shape (rows, k) for corpus metrics, else None.
        measured: shape (rows,).
        noise: shape (rows,), variance between repeats divided by their number; None without.
        repeats: most measured repeats of a row.
    """

    rows: tuple[str, ...]
    values: np.ndarray
    statistics: np.ndarray | None
    measured: np.ndarray
    noise: np.ndarray | None = None
    repeats: int = 1


def row_units(scored: ModelScores, answers: ModelAnswers, order: dict[str, int]) -> RowUnits:
    """Gather repeats under their rows."""
    size = len(order)
    sums, counts = np.zeros(size), np.zeros(size)
    where = np.array([order[answers.results[p].row] for p in scored.places], dtype=np.intp)
    values = np.array([np.nan if v is None else v for v in scored.scores.values], dtype=float)
    seen = ~np.isnan(values) if len(values) else np.zeros(0, dtype=bool)
    np.add.at(sums, where[seen], values[seen])
    np.add.at(counts, where[seen], 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, sums / counts, np.nan)
    statistics = None
    if scored.scores.statistics is not None:
        statistics = np.zeros((size, scored.scores.statistics.shape[1]))
        np.add.at(statistics, where[seen], scored.scores.statistics[seen])
        # Averaged as values are: a row of which one repeat failed weighs no less than others.
        statistics /= np.maximum(counts, 1.0)[:, None]
    noise = _noise(values[seen], where[seen], means, counts)
    repeats = int(counts.max(initial=1))
    return RowUnits(tuple(order), means, statistics, counts > 0, noise, repeats)


def _noise(
    values: np.ndarray, where: np.ndarray, means: np.ndarray, counts: np.ndarray
) -> np.ndarray | None:
    """Variance of each row's mean, from its repeats; None where no row has several."""
    if not (counts > 1).any():
        return None
    squares = np.zeros(len(means))
    np.add.at(squares, where, (values - means[where]) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 1, squares / (counts - 1) / counts, np.nan)
