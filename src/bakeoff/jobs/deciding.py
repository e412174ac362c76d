"""Ranking, pairs, tiers and the verdict, from one deciding metric."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.report import MetricSummary, Pair, Score, Verdict
from bakeoff.core.specs import DecideSpec
from bakeoff.jobs.scoring import ModelScores, RowUnits, Scored
from bakeoff.stats.paired import Paired, Setting, Side, compare, compare_all, holm
from bakeoff.stats.verdict import Question
from bakeoff.stats.verdict import decide as settle

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
    valued = [m for m in ranking if scores[m].get(metric) and scores[m][metric].value is not None]
    decision = spec or DecideSpec()
    question = Question(
        metric=metric,
        better=metrics[metric].better or "higher",
        scale=metrics[metric].scale,
        margin=decision.margin,
        baseline=decision.baseline,
        unit=metrics[metric].unit,
    )
    setting = Setting(
        metric=metric,
        groups=groups,
        margin=decision.margin * question.point,
        estimand=decision.estimand,
    )
    sides = [_side(model, units[model][metric], scored.by_model[model][metric]) for model in valued]
    pairs = [Pair(**asdict(pair)) for pair in _compared(sides, setting, decision.baseline)]
    decided = settle(pairs, valued, question)
    return Decision(metric, ranking, tuple(pairs), decided.tiers, decided.verdict)


def _side(model: str, units: RowUnits, scores: ModelScores) -> Side:
    return Side(
        model=model,
        values=units.values,
        statistics=units.statistics,
        combine=scores.scores.combine,
        noise=units.noise,
        repeats=units.repeats,
    )


def _compared(sides: list[Side], setting: Setting, baseline: str | None) -> list[Paired]:
    """Every pair; with many models only those with the best or the baseline in them."""
    if len(sides) <= MAX_PAIRED:
        return compare_all(sides, setting)
    chosen = [s for s in sides if s.model in (sides[0].model, baseline)]
    found = [
        compare(a, b, setting)
        for place, a in enumerate(chosen)
        for b in sides
        if b.model not in [s.model for s in chosen[: place + 1]]
    ]
    adjusted = holm([pair.p for pair in found])
    return [replace(pair, p_adjusted=p) for pair, p in zip(found, adjusted, strict=True)]


def deciding_metric(
    spec: DecideSpec | None,
    metrics: dict[str, MetricSummary],
    scores: dict[str, dict[str, Score]],
) -> str | None:
    """The named metric, else the first that has a direction and a value.

    None where the named one could not be computed: another must not decide in its place.
    """
    if spec is not None and spec.metric is not None:
        if spec.metric in metrics:
            return spec.metric
        return next((n for n, m in metrics.items() if m.metric == spec.metric and m.better), None)
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
