"""Scores with their 95 % intervals, and pairs of models on the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.report import Score
from bakeoff.core.rows import TaskRow
from bakeoff.jobs.answers import ModelAnswers
from bakeoff.jobs.scoring import ModelScores, RowUnits, row_units
from bakeoff.stats.bootstrap import Interval, corpus_interval, mean_intervals

SEED = 0


def group_codes(groups: Sequence[str | None]) -> NDArray[np.intp] | None:
    """A number for each row's group; rows without one are their own.

    None where no row names a group.
    """
    if all(group is None for group in groups):
        return None
    names = [f"\0{at}" if group is None else group for at, group in enumerate(groups)]
    _, codes = np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)
    return codes.astype(np.intp)


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
        shares = [scores[name].scores.output.scale is not None for name in plain]
        found = mean_intervals(matrix, shares=shares, groups=groups, seed=SEED)
        intervals |= dict(zip(plain, found, strict=True))
    for name, of_model in scores.items():
        if name not in intervals:
            intervals[name] = _corpus(of_model, units[name], groups)
    failed = sum(not result.ok for result in answers.results)
    return {name: _score(scores[name], intervals[name], failed) for name in scores}


def _corpus(found: ModelScores, units: RowUnits, groups: NDArray[np.intp] | None) -> Interval:
    if units.statistics is None or found.scores.combine is None:
        raise TypeError(f"{found.scores.output.name} is a corpus metric without statistics")
    seen = units.measured
    return corpus_interval(
        units.statistics[seen],
        found.scores.combine,
        groups=None if groups is None else groups[seen],
        seed=SEED,
    )


def _score(found: ModelScores, interval: Interval, failed: int) -> Score:
    reasons = Counter(reason for reason in found.scores.reasons if reason)
    return score_of(interval, failed).model_copy(
        update={
            "unscored": sum(value is None for value in found.scores.values),
            "reasons": dict(sorted(reasons.items())),
        }
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
