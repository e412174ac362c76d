"""The frozen spec: every default and revision resolved, so that it can be run again as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bakeoff.core.ports import Metric
from bakeoff.core.specs import GenerationSpec, MetricSpec, ModelEntry, RunSpec
from bakeoff.datasets.roles import RoleMap
from bakeoff.jobs.contender import Contender, model_ids


def frozen_spec(
    spec: RunSpec,
    roles: RoleMap,
    contenders: Mapping[str, Contender],
    metrics: Sequence[Metric],
) -> RunSpec:
    """The same run with nothing left to a default that may change."""
    ids = model_ids(spec.models)
    models = tuple(
        _entry(entry, model_id, contenders.get(model_id))
        for entry, model_id in zip(spec.models, ids, strict=True)
    )
    named = spec.metrics
    if named is None:
        named = tuple(MetricSpec(name=metric.name) for metric in metrics)
    return spec.model_copy(
        update={
            "columns": roles.spec(),
            "generation": GenerationSpec(),
            "metrics": named,
            "models": models,
        }
    )


def _entry(entry: ModelEntry, model_id: str, contender: Contender | None) -> ModelEntry:
    if contender is None:
        return entry.model_copy(update={"id": model_id})
    ref, params = contender.facts.ref, contender.decoding.params.said()
    settings = {name: params[name] for name in GenerationSpec.model_fields if name in params}
    return entry.model_copy(
        update={
            **settings,
            "id": model_id,
            "model": ref.uri,
            "tokenizer": ref.tokenizer,
            "adapter": ref.adapter,
            "revision": None if ref.scheme == "hf" else ref.revision,
            "truncate": contender.decoding.truncate,
        }
    )
