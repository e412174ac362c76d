"""Metrics: rows to scores. The menu; a class is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bakeoff.core.errors import InvalidSpec, UnknownName
from bakeoff.core.ports import Metric
from bakeoff.core.registry import Registry
from bakeoff.core.specs import MetricSpec

__all__ = ["METRICS", "OUTPUTS", "build_metrics", "family_of"]

METRICS: Registry[Callable[[Mapping[str, Any]], Metric]] = Registry(
    "metric",
    {
        "accuracy": "bakeoff.metrics.labels:Accuracy",
        "bertscore": "bakeoff.metrics.bertscore:BertScore",
        "bleu": "bakeoff.metrics.bleu:Bleu",
        "chrf": "bakeoff.metrics.chrf:Chrf",
        "compression": "bakeoff.metrics.lengths:Compression",
        "exact_match": "bakeoff.metrics.exact:ExactMatch",
        "length": "bakeoff.metrics.lengths:Length",
        "macro_f1": "bakeoff.metrics.labels:MacroF1",
        "meteor": "bakeoff.metrics.meteor:Meteor",
        "rouge": "bakeoff.metrics.rouge:Rouge",
        "squad_f1": "bakeoff.metrics.squad:Squad",
        "ter": "bakeoff.metrics.ter:Ter",
    },
)
"""Name in a spec to the class; called with the options."""

OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "accuracy": ("accuracy",),
    "bertscore": ("bertscore_f1", "bertscore_precision", "bertscore_recall"),
    "bleu": ("bleu",),
    "chrf": ("chrf",),
    "compression": ("compression",),
    "exact_match": ("exact_match",),
    "length": ("length_characters", "length_words", "length_tokens"),
    "macro_f1": ("macro_f1",),
    "meteor": ("meteor",),
    "rouge": ("rouge1", "rouge2", "rougeL", "rougeLsum"),
    "squad_f1": ("squad_f1", "squad_em"),
    "ter": ("ter",),
}
"""Metric to the numbers it gives, as its `outputs` names them; known without an import."""


def family_of(output: str) -> str | None:
    """The metric that gives a number, for example `rouge` for `rougeL`; None if there is none."""
    for family, names in OUTPUTS.items():
        if output in names:
            return family
    return None


def build_metrics(specs: Sequence[MetricSpec]) -> list[Metric]:
    """Metrics with their options, in order; nothing heavy is imported yet.

    Raises:
        UnknownName: there is no such metric; the message names near matches, or the metric that
            gives the number asked for.
        UnsupportedOption: a metric has no such option.
        InvalidSpec: an option has a wrong value, or a metric is named twice.
    """
    built: list[Metric] = []
    for spec in specs:
        family = family_of(spec.name)
        if spec.name not in METRICS and family is not None:
            raise UnknownName(
                f"unknown metric {spec.name!r}: it is a number that the metric {family!r} gives; "
                f"write {family!r} under metrics and {spec.name!r} where one number is meant",
                name=spec.name,
                near=(family,),
            )
        if any(metric.name == spec.name for metric in built):
            raise InvalidSpec(f"metric {spec.name!r} is named twice; name each metric once")
        built.append(METRICS.get(spec.name)(spec.options))
    return built
