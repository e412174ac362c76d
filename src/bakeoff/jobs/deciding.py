"""Ranking, pairs, tiers and the verdict, from one deciding metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.report import MetricSummary, Pair, Score, Verdict, Warning
from bakeoff.core.specs import DecideSpec
from bakeoff.jobs.intervals import scale_of
from bakeoff.jobs.ranking import Beside, Better, comparable, placed, rank
from bakeoff.jobs.scoring import ModelScores, RowUnits, Scored
from bakeoff.stats.paired import Paired, Setting, Side, adjusted, compare, compare_all
from bakeoff.stats.verdict import Question
from bakeoff.stats.verdict import decide as settle

MAX_PAIRED = 12


@dataclass(frozen=True, slots=True)
class Decision:
    """What the report says about order.

    Attributes:
        metric: that the order rests on, or None where nothing can be ranked.
        ranking: model ids, best first; models without a value come last.
        warnings: what the order rests on, where that is not plain from the scores.
    """

    metric: str | None
    ranking: tuple[str, ...]
    pairs: tuple[Pair, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    verdict: Verdict | None = None
    warnings: tuple[Warning, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a decision rests on.

    Attributes:
        metrics: by name.
        scores: of each model, by metric.
        units: values by row, of each model and metric.
        scored: what the metrics gave.
        groups: group of each row, or None.
        limited: models that were asked fewer rows than others: they take no rows away from the
            others and are put among them by the rows that they share.
    """

    metrics: dict[str, MetricSummary]
    scores: dict[str, dict[str, Score]]
    units: dict[str, dict[str, RowUnits]]
    scored: Scored
    groups: NDArray[np.intp] | None
    limited: Collection[str] = ()


def decide(spec: DecideSpec | None, evidence: Evidence) -> Decision:
    """Rank the models on the rows that all have, and compare each pair on the rows of both."""
    metrics, scores = evidence.metrics, evidence.scores
    metric = deciding_metric(spec, metrics, scores)
    if metric is None:
        return Decision(None, tuple(scores))
    own = {m: s[metric].value if metric in s else None for m, s in scores.items()}
    by_model = evidence.scored.by_model
    sides = {
        model: _side(model, evidence.units[model][metric], by_model[model][metric])
        for model, value in own.items()
        if value is not None
    }
    ranking, warnings = _ranked(metrics[metric].better, metric, own, sides, evidence.limited)
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
        scale=scale_of(metrics[metric]),
        groups=evidence.groups,
        margin=decision.margin * question.point,
        estimand=decision.estimand,
    )
    valued = [model for model in ranking if model in sides]
    found = _compared([sides[model] for model in valued], setting, decision.baseline)
    pairs = tuple(Pair(**asdict(pair)) for pair in found)
    decided = settle(pairs, valued, question)
    order = decided.ranking + tuple(model for model in ranking if model not in sides)
    if decision.baseline is not None and decision.baseline not in sides:
        warnings = (*warnings, _no_baseline(decision.baseline, metric))
    return Decision(metric, order, pairs, decided.tiers, decided.verdict, warnings)


def _ranked(
    better: Better,
    metric: str,
    own: Mapping[str, float | None],
    sides: Mapping[str, Side],
    limited: Collection[str],
) -> tuple[tuple[str, ...], tuple[Warning, ...]]:
    """All models, best first, and what the order rests on."""
    few = [model for model in sides if model in limited]
    whole = {model: value for model, value in own.items() if model not in few}
    values, warnings = comparable(metric, whole, [s for m, s in sides.items() if m not in few])
    ranking = rank(values, better)
    for model in few:
        beside = Beside(sides[model], {m: sides[m] for m in ranking if m in sides})
        ranking = placed(ranking, beside, better)
        warnings = (*warnings, beside.warning())
    return ranking, warnings


def _no_baseline(baseline: str, metric: str) -> Warning:
    text = (
        f"decide.baseline {baseline!r} has no value of {metric}: nothing is held against it, the "
        "verdict compares the other models with one another"
    )
    return Warning(code="baseline-without-value", text=text)


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
    return adjusted(found, setting)


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
