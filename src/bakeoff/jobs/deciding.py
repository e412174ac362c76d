"""Ranking, pairs, tiers and the verdict, from one deciding metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.registry import unknown
from bakeoff.core.report import MetricSummary, Pair, Score, Verdict
from bakeoff.core.specs import DecideSpec
from bakeoff.jobs.scoring import RowUnits, Scored

MAX_PAIRED = 12


@dataclass(frozen=True, slots=True)
class Decision:
    """What the report says about order.

    Attributes:
        metric: that the order rests on, or None where nothing can be ranked.
        ranking: model ids, best first; models without a value come last.
    """

    metric: str | None
    ranking: tuple[str, ...]
    pairs: tuple[Pair, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    verdict: Verdict | None = None


def decide(
    spec: DecideSpec | None,
    metrics: dict[str, MetricSummary],
    scores: dict[str, dict[str, Score]],
    units: dict[str, dict[str, RowUnits]],
    scored: Scored,
    groups: NDArray[np.intp] | None,
) -> Decision:
    """Rank the models, and compare them pair by pair on the same rows."""
    metric = deciding_metric(spec, metrics, scores)
    if metric is None:
        return Decision(None, tuple(scores))
    ranking = rank(metric, metrics[metric], scores)
    return Decision(metric, ranking)


def deciding_metric(
    spec: DecideSpec | None,
    metrics: dict[str, MetricSummary],
    scores: dict[str, dict[str, Score]],
) -> str | None:
    """The named metric, else the first that has a direction and a value.

    Raises:
        UnknownName: the spec names a metric that the run does not compute.
    """
    if spec is not None and spec.metric is not None:
        if spec.metric in metrics:
            return spec.metric
        family = [n for n, m in metrics.items() if m.metric == spec.metric and m.better]
        if family:
            return family[0]
        if metrics:
            raise unknown("metric in decide.metric", spec.metric, tuple(metrics))
    for name, summary in metrics.items():
        valued = any(s.get(name) and s[name].value is not None for s in scores.values())
        if summary.better is not None and valued:
            return name
    return None


def rank(
    metric: str, summary: MetricSummary, scores: dict[str, dict[str, Score]]
) -> tuple[str, ...]:
    """Model ids, best first; without a value last, in the order of the spec."""

    def place(model: str) -> tuple[bool, float]:
        score = scores[model].get(metric)
        if score is None or score.value is None:
            return (True, 0.0)
        return (False, score.value if summary.better == "lower" else -score.value)

    return tuple(sorted(scores, key=place))
