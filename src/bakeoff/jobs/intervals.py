"""Scores with their 95 % intervals, and pairs of models on the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.ports import MetricOutput
from bakeoff.core.report import MetricSummary, Score
from bakeoff.core.rows import TaskRow
from bakeoff.jobs.answers import ModelAnswers
from bakeoff.jobs.scoring import ModelScores, RowUnits, row_units
from bakeoff.stats.bootstrap import Interval, corpus_interval, mean_intervals
from bakeoff.stats.scale import Scale

SEED = 0


def group_codes(groups: Sequence[str | None]) -> NDArray[np.intp] | None:
    """A number for each row's group; rows without one are their own.

    None where no row names a group.
    """
    if all(group is None for group in groups):
        return None
    # By name and not by place, so that the same rows in another order are drawn alike.
    named = sorted({group for group in groups if group is not None})
    number = {group: code for code, group in enumerate(named)}
    lone = count(len(named))
    codes = [next(lone) if group is None else number[group] for group in groups]
    return np.array(codes, dtype=np.intp)


def scale_of(metric: MetricOutput | MetricSummary) -> Scale:
    """The scale of a metric's values; where lower is better they may pass it."""
    return Scale(metric.scale, beyond=metric.better == "lower", graded=metric.graded)


def model_units(
    scores: dict[str, ModelScores], answers: ModelAnswers, rows: Sequence[TaskRow]
) -> dict[str, RowUnits]:
    """Every metric of a model by row."""
    order = {row.id: place for place, row in enumerate(rows)}
    return {name: row_units(found, answers, order) for name, found in scores.items()}


def model_scores(
    scores: dict[str, ModelScores],
    units: dict[str, RowUnits],
    answers: ModelAnswers,
    groups: NDArray[np.intp] | None,
) -> dict[str, Score]:
    """Value and interval of every metric of a model."""
    plain = [name for name, found in scores.items() if found.scores.output.kind == "row"]
    intervals: dict[str, Interval] = {}
    if plain:
        matrix = np.column_stack([units[name].values for name in plain])
        scales = [scale_of(scores[name].scores.output) for name in plain]
        found = mean_intervals(matrix, scales=scales, groups=groups, seed=SEED)
        intervals |= dict(zip(plain, found, strict=True))
    for name, of_model in scores.items():
        if name not in intervals:
            intervals[name] = _corpus(of_model, units[name], groups)
    return {name: _score(scores[name], intervals[name], answers) for name in scores}


def _corpus(found: ModelScores, units: RowUnits, groups: NDArray[np.intp] | None) -> Interval:
    if units.statistics is None or found.scores.combine is None:
        raise TypeError(f"{found.scores.output.name} is a corpus metric without statistics")
    seen = units.measured
    return corpus_interval(
        units.statistics[seen],
        found.scores.combine,
        scale=scale_of(found.scores.output),
        groups=None if groups is None else groups[seen],
        seed=SEED,
    )


def _score(found: ModelScores, interval: Interval, answers: ModelAnswers) -> Score:
    """Rows with a value, without one and without a prediction add up to the model's rows."""
    rows = {result.row for result in answers.results}
    lines = [
        (answers.results[place].row, value, reason)
        for place, value, reason in zip(
            found.places, found.scores.values, found.scores.reasons, strict=True
        )
    ]
    answered, valued = {row for row, *_ in lines}, {row for row, v, _ in lines if v is not None}
    why = {row: reason for row, _, reason in reversed(lines) if row not in valued}
    reasons = Counter(reason for reason in why.values() if reason)
    return score_of(interval, len(rows - answered)).model_copy(
        update={"unscored": len(why), "reasons": dict(sorted(reasons.items()))}
    )


def score_of(interval: Interval, failed: int) -> Score:
    """An interval as reports keep it: numbers that are not finite become None."""
    return Score(
        value=_number(interval.value),
        low=_number(interval.low),
        high=_number(interval.high),
        method=interval.method,
        n=interval.n,
        failed=failed,
    )


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
