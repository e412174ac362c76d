"""Ranking, pairs, tiers and the verdict, from one deciding metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.report import MetricSummary, Pair, Score, Verdict, Warning
from bakeoff.core.specs import DecideSpec
from bakeoff.jobs.scoring import ModelScores, RowUnits, Scored
from bakeoff.stats.normal import rounded
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
        warnings: what the order rests on, where that is not plain from the scores.
    """

    metric: str | None
    ranking: tuple[str, ...]
    pairs: tuple[Pair, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    verdict: Verdict | None = None
    warnings: tuple[Warning, ...] = ()


def decide(
    spec: DecideSpec | None,
    metrics: dict[str, MetricSummary],
    scores: dict[str, dict[str, Score]],
    units: dict[str, dict[str, RowUnits]],
    scored: Scored,
    groups: NDArray[np.intp] | None,
) -> Decision:
    """Rank the models on the rows that all have, and compare each pair on the rows of both."""
    metric = deciding_metric(spec, metrics, scores)
    if metric is None:
        return Decision(None, tuple(scores))
    own = {m: s[metric].value if metric in s else None for m, s in scores.items()}
    sides = {
        model: _side(model, units[model][metric], scored.by_model[model][metric])
        for model, value in own.items()
        if value is not None
    }
    values, warnings = _comparable(metric, own, list(sides.values()))
    ranking = rank(values, metrics[metric].better)
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
    valued = [model for model in ranking if model in sides]
    found = _compared([sides[model] for model in valued], setting, decision.baseline)
    pairs = tuple(Pair(**asdict(pair)) for pair in found)
    decided = settle(pairs, valued, question)
    order = decided.ranking + tuple(model for model in ranking if model not in sides)
    if decision.baseline is not None and decision.baseline not in sides:
        warnings = (*warnings, _no_baseline(decision.baseline, metric))
    return Decision(metric, order, pairs, decided.tiers, decided.verdict, warnings)


def _comparable(
    metric: str, own: Mapping[str, float | None], sides: Sequence[Side]
) -> tuple[Mapping[str, float | None], tuple[Warning, ...]]:
    """Values that models can be ranked by: over the rows that all have, where there are any."""
    if not sides:
        return own, ()
    measured = ~np.isnan(np.stack([side.values for side in sides]))
    shared: NDArray[np.bool_] = np.all(measured, axis=0)
    rows = int(shared.sum())
    if (measured == shared).all():
        return own, ()
    if not rows:
        text = f"no row has {metric} of every model: the ranking compares values of different rows"
        return own, (Warning(code="no-shared-rows", text=text),)
    text = (
        f"ranked on the {rows} {'row' if rows == 1 else 'rows'} that all models have; each value "
        "in the table rests on the model's own rows, each pair on the rows of both"
    )
    found = {**own, **{side.model: _value_on(side, shared) for side in sides}}
    return found, (Warning(code="ranked-on-shared-rows", text=text, rows=rows),)


def _value_on(side: Side, rows: NDArray[np.bool_]) -> float:
    if side.statistics is not None and side.combine is not None:
        return rounded(float(side.combine(side.statistics[rows].sum(axis=0))))
    return rounded(float(side.values[rows].mean()))


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
    values: Mapping[str, float | None], better: Literal["higher", "lower"] | None
) -> tuple[str, ...]:
    """Keys, best first; without a value last; equals in the order given."""

    def place(key: str) -> tuple[bool, float]:
        value = values[key]
        if value is None:
            return (True, 0.0)
        return (False, value if better == "lower" else -value)

    return tuple(sorted(values, key=place))
