"""A spec becomes a plan: all that is known, and every mistake found, before a model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from bakeoff.core.errors import CallerError, ModelError, UnsupportedOption
from bakeoff.core.ports import Dataset, Metric, Task
from bakeoff.core.registry import unknown
from bakeoff.core.rows import Notice
from bakeoff.core.specs import MetricSpec, RunSpec
from bakeoff.datasets.roles import RoleMap, map_roles
from bakeoff.engines.options import EngineOptions
from bakeoff.jobs.answers import task_rows
from bakeoff.jobs.contender import Contender, make_contender, model_ids
from bakeoff.jobs.data import open_run_data
from bakeoff.jobs.events import EventSink, silent
from bakeoff.jobs.scoring import check_deciding, runnable
from bakeoff.metrics import build_metrics
from bakeoff.tasks import build_task


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a spec is carried out; nothing here changes a text.

    Attributes:
        folder: the run folder.
        base: folder against which the spec's relative paths are taken.
        fresh: make all rows anew.
        wait: seconds to wait for another process that holds the folder.
        emit: takes events.
        engine: resources of the engines.
        stdin: what `dataset: -` reads.
        latency_rows: rows of the latency pass; 0 leaves it out.
    """

    folder: Path
    base: Path = field(default_factory=Path.cwd)
    fresh: bool = False
    wait: float = 0.0
    emit: EventSink = silent
    engine: EngineOptions = field(default_factory=EngineOptions)
    stdin: BinaryIO | None = None
    latency_rows: int = 20


@dataclass(slots=True)
class Plan:
    """Everything that is known before a model is loaded.

    Attributes:
        spec: as given, its data set copied into the run where it came from a stream, its task as
            the rows settled it.
        broken: models that could not be described, and why.
        notices: of data, columns, metrics and models.
        total_rows: of the data set.
    """

    spec: RunSpec
    dataset: Dataset
    roles: RoleMap
    task: Task
    metrics: list[Metric]
    contenders: dict[str, Contender]
    broken: dict[str, ModelError]
    notices: list[Notice]
    total_rows: int

    def rows_of(self, model_id: str) -> int:
        """Rows times repeats that a model is asked, by the spec alone."""
        ids = model_ids(self.spec.models)
        limit = self.spec.models[ids.index(model_id)].limit
        rows = self.total_rows if limit is None else min(limit, self.total_rows)
        return rows * self.spec.repeats


def refuse_later_features(spec: RunSpec) -> None:
    """Refuse by name what the spec format has and this version does not do.

    Raises:
        UnsupportedOption: `stop` or `race` is set.
    """
    for name in ("stop", "race"):
        if getattr(spec, name) is not None:
            raise UnsupportedOption(
                f"`{name}:` arrives in a later version: leave it out", option=name
            )


def make_plan(spec: RunSpec, options: RunOptions) -> Plan:
    """Read data and configurations; every mistake of the caller is found here.

    Raises:
        CallerError: the spec, the data or an option is wrong.
    """
    task = build_task(spec.task)
    default = [MetricSpec(name=name) for name in task.default_metrics]
    metrics = build_metrics(default if spec.metrics is None else spec.metrics)
    data = open_run_data(spec.dataset, options.base, options.folder, options.stdin)
    spec, dataset = spec.model_copy(update={"dataset": data.spec}), data.dataset
    roles = map_roles(dataset, spec.columns, task.roles, task.blank_is_answer)
    if spec.decide and spec.decide.metric is not None:
        check_deciding(spec.decide.metric, metrics)
    metrics, left_out = runnable(metrics)
    plan = Plan(spec, dataset, roles, task, metrics, {}, {}, [], roles.rows)
    plan.notices += [*dataset.notices, *roles.notices, *left_out]
    _add_contenders(plan, options)
    _settle(plan)
    if spec.decide and spec.decide.baseline is not None:
        ids = tuple(model_ids(spec.models))
        if spec.decide.baseline not in ids:
            raise unknown("model in decide.baseline", spec.decide.baseline, ids)
    return plan


def _add_contenders(plan: Plan, options: RunOptions) -> None:
    ids = model_ids(plan.spec.models)
    for number, (model_id, entry) in enumerate(zip(ids, plan.spec.models, strict=True)):
        try:
            plan.task.check_columns(plan.dataset.columns, entry.prompt)
            made = make_contender(plan.spec, entry, model_id, plan.task, options.base)
        except CallerError as problem:
            said = problem.message.removeprefix(f"{model_id}: ")
            whose = "" if said.startswith("task.") else f"models[{number}] ({model_id}): "
            problem.args = (whose + said,)
            problem.message = problem.args[0]
            raise
        except ModelError as problem:
            plan.broken[model_id] = problem
            continue
        column = made.facts.reads_column
        if column is not None and column not in plan.dataset.columns:
            raise unknown("column", column, plan.dataset.columns)
        plan.contenders[model_id] = made
        plan.notices += _named(model_id, made.facts.notices)
        plan.notices += [one for one in made.route.notices if one not in plan.notices]
        plan.notices += plan.task.notices(made.facts, entry.prompt)


def _settle(plan: Plan) -> None:
    """Let the task see all rows, where answers are compared with references."""
    if not any(metric.needs_reference for metric in plan.metrics):
        return
    read = {made.facts.reads_column for made in plan.contenders.values()}
    settled = plan.task.settled(
        task_rows(plan.dataset, plan.roles),
        sorted(column for column in read if column is not None),
        plan.roles.columns.get("reference", ()),
    )
    plan.task = settled.task
    plan.notices += settled.notices
    plan.contenders = {
        model_id: replace(made, task=settled.task) for model_id, made in plan.contenders.items()
    }
    if settled.spec is not None:
        plan.spec = plan.spec.model_copy(update={"task": settled.spec})


def _named(model_id: str, notices: Sequence[Notice]) -> list[Notice]:
    """Notices that speak of settings say whose; those that name a file need not."""
    return [
        notice
        if notice.code == "gguf-dequantised"
        else Notice(notice.code, f"{model_id}: {notice.text}", notice.rows)
        for notice in notices
    ]
