"""Carry out a spec in a run folder, from the first file read to the report."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from bakeoff.core.errors import (
    BakeoffError,
    CallerError,
    EngineFailed,
    InvalidSpec,
    ModelError,
    ModelLoadFailed,
    TooManyFailures,
    UnsupportedOption,
)
from bakeoff.core.ports import Dataset, Metric, Task
from bakeoff.core.registry import unknown
from bakeoff.core.report import Report
from bakeoff.core.rows import Notice
from bakeoff.core.specs import MetricSpec, RunSpec
from bakeoff.datasets.roles import RoleMap, map_roles
from bakeoff.engines import open_engine
from bakeoff.engines.options import EngineOptions
from bakeoff.jobs.contender import Contender, in_epoch, make_contender, model_ids
from bakeoff.jobs.data import open_run_data
from bakeoff.jobs.events import (
    EventSink,
    ModelFinished,
    ModelLoading,
    ModelPlanned,
    ModelReady,
    Noticed,
    RunStarted,
    Stage,
    silent,
)
from bakeoff.jobs.execute import FailureLimit, RowSink, run_rows
from bakeoff.jobs.faults import cause_of, translated
from bakeoff.jobs.freeze import frozen_spec
from bakeoff.jobs.latency import measure_latency
from bakeoff.jobs.plan import PlannedRow, RowSet, outlook, planned_rows
from bakeoff.jobs.reporting import ModelRecord, RunRecord, write_outputs
from bakeoff.jobs.scoring import check_deciding, runnable
from bakeoff.jobs.specfile import check_numbers
from bakeoff.metrics import build_metrics
from bakeoff.store.files.journal import JournalIndex, JournalWriter, SegmentHeader
from bakeoff.store.files.measurements import Measurement, read_measurements, write_measurement
from bakeoff.store.files.runfolder import RunFolder, new_writer
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
class _Plan:
    """Everything that is known before a model is loaded."""

    spec: RunSpec
    dataset: Dataset
    roles: RoleMap
    task: Task
    metrics: list[Metric]
    contenders: dict[str, Contender]
    broken: dict[str, ModelError]
    notices: list[Notice]
    total_rows: int


async def run(spec: RunSpec, options: RunOptions) -> Report:
    """Carry out a spec and return its report; the same spec resumes.

    Raises:
        CallerError: the spec, the data or an option is wrong; nothing was started.
        RunLocked: another process works on the folder.
    """
    refuse_later_features(spec)
    check_numbers(spec)
    folder = RunFolder(options.folder)
    with ExitStack() as stack:
        stack.enter_context(folder.locked(options.wait))
        plan = make_plan(spec, options)
        return await _carry_out(plan, folder, options)


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


def make_plan(spec: RunSpec, options: RunOptions) -> _Plan:
    """Read data and configurations; every mistake of the caller is found here."""
    task = build_task(spec.task)
    default = [MetricSpec(name=name) for name in task.default_metrics]
    metrics = build_metrics(default if spec.metrics is None else spec.metrics)
    data = open_run_data(spec.dataset, options.base, options.folder, options.stdin)
    spec, dataset = spec.model_copy(update={"dataset": data.spec}), data.dataset
    roles = map_roles(dataset, spec.columns, task.roles)
    if spec.decide and spec.decide.metric is not None:
        check_deciding(spec.decide.metric, metrics)
    metrics, left_out = runnable(metrics)
    plan = _Plan(spec, dataset, roles, task, metrics, {}, {}, [], roles.rows)
    plan.notices += [*dataset.notices, *roles.notices, *left_out]
    _add_contenders(plan, options)
    if spec.decide and spec.decide.baseline is not None:
        ids = tuple(model_ids(spec.models))
        if spec.decide.baseline not in ids:
            raise unknown("model in decide.baseline", spec.decide.baseline, ids)
    return plan


def _add_contenders(plan: _Plan, options: RunOptions) -> None:
    ids = model_ids(plan.spec.models)
    for number, (model_id, entry) in enumerate(zip(ids, plan.spec.models, strict=True)):
        plan.task.check_columns(plan.dataset.columns, entry.prompt)
        try:
            made = make_contender(plan.spec, entry, model_id, plan.task, options.base)
        except CallerError as problem:
            problem.args = (f"models[{number}] ({model_id}): {problem.message}",)
            problem.message = problem.args[0]
            raise
        except ModelError as problem:
            plan.broken[model_id] = problem
            continue
        column = made.facts.reads_column
        if column is not None and column not in plan.dataset.columns:
            raise unknown("column", column, plan.dataset.columns)
        plan.contenders[model_id] = made
        plan.notices += made.facts.notices


async def _carry_out(plan: _Plan, folder: RunFolder, options: RunOptions) -> Report:
    emit = options.emit
    ids = tuple(model_ids(plan.spec.models))
    folder.write_spec(frozen_spec(plan.spec, plan.roles, plan.contenders, plan.metrics))
    folder.log("run", name=plan.spec.name, rows=plan.total_rows, models=list(ids))
    emit(RunStarted(plan.spec.name, str(folder.path), plan.total_rows, ids))
    for notice in plan.notices:
        emit(Noticed(notice.code, notice.text))
    limit = FailureLimit(plan.spec.max_failures)
    records: dict[str, ModelRecord] = {}
    stopped: TooManyFailures | None = None
    for model_id in ids:
        if model_id in plan.broken:
            record = ModelRecord(model_id, None, 0, plan.broken[model_id])
            emit(ModelFinished(model_id, record.error.message if record.error else None))
            _log_failure(folder, model_id, plan.broken[model_id])
            stopped = stopped or _count(limit, plan)
        elif stopped is None:
            record, stopped = await _one_model(plan, model_id, folder, options, limit)
        else:
            index = JournalIndex(folder.rows(model_id))
            contender = _current(plan.contenders[model_id], index, fresh=False)
            record = ModelRecord(model_id, contender, 0, None)
        records[model_id] = record
    emit(Stage("report"))
    run_record = RunRecord(
        plan.spec, plan.dataset, plan.roles, plan.task, plan.metrics, records, stopped
    )
    report = write_outputs(run_record, plan.notices, folder)
    folder.log("report", status=report.status)
    return report


def _log_failure(folder: RunFolder, model_id: str, problem: BakeoffError) -> None:
    cause = cause_of(problem)
    more = {"cause": cause} if cause else {}
    folder.log("model failed", model=model_id, code=problem.code, error=problem.message, **more)


def _count(limit: FailureLimit, plan: _Plan) -> TooManyFailures | None:
    try:
        limit.add(plan.total_rows * plan.spec.repeats)
    except TooManyFailures as problem:
        return problem
    return None


def _current(contender: Contender, index: JournalIndex, fresh: bool) -> Contender:
    epoch = index.epoch + (1 if fresh and index.attempt else 0)
    return in_epoch(contender, epoch)


async def _one_model(
    plan: _Plan, model_id: str, folder: RunFolder, options: RunOptions, limit: FailureLimit
) -> tuple[ModelRecord, TooManyFailures | None]:
    index = JournalIndex(folder.rows(model_id))
    contender = _current(plan.contenders[model_id], index, options.fresh)
    repeats = plan.spec.repeats
    view = outlook(contender, planned_rows(contender, plan.dataset, plan.roles, repeats), index)
    options.emit(ModelPlanned(model_id, view.total, view.todo, view.why, view.first))
    folder.log(
        "model",
        model=model_id,
        total=view.total,
        todo=view.todo,
        why=list(view.why),
        rows=list(view.first),
    )
    error: BakeoffError | None = None
    stopped: TooManyFailures | None = None
    if view.todo:
        work = _ModelWork(plan, contender, index, view.places, folder, options, limit)
        try:
            await work.do()
        except TooManyFailures as problem:
            stopped = problem
        except (ModelError, EngineFailed, CallerError) as problem:
            error = problem
            _log_failure(folder, model_id, problem)
            stopped = None if isinstance(problem, CallerError) else _count(limit, plan)
    options.emit(ModelFinished(model_id, error.message if error else None))
    return ModelRecord(model_id, contender, view.reused, error), stopped


@dataclass(slots=True)
class _ModelWork:
    """One attempt at one model."""

    plan: _Plan
    contender: Contender
    index: JournalIndex
    places: RowSet
    folder: RunFolder
    options: RunOptions
    limit: FailureLimit

    async def do(self) -> None:
        """Load the model, time a few rows, then carry out what is missing."""
        contender, options = self.contender, self.options
        taken = contender.route
        options.emit(ModelLoading(contender.id, contender.facts.ref.uri, taken.engine))
        with translated("loading the model", ModelLoadFailed):
            engine = await open_engine(taken.engine, contender.facts, options.engine, taken.why)
        options.emit(ModelReady(contender.id))
        for notice in engine.notices:
            options.emit(Noticed(notice.code, f"{contender.id}: {notice.text}"))
        journal_folder = self.folder.rows(contender.id)
        header = SegmentHeader(
            writer=new_writer(),
            attempt=self.index.attempt + 1,
            engine=engine.info.name,
            version=engine.info.version,
            device=engine.info.device,
            dtype=engine.info.dtype,
            parts=contender.parts.values,
        )
        name = f"{header.attempt:04d}-{header.writer}"
        try:
            with JournalWriter(journal_folder, header) as journal:
                latency = None
                if not self._latency_known(journal_folder):
                    sample = latency_sample(list(self._todo(limit=2000)), options.latency_rows)
                    with translated("timing rows", EngineFailed):
                        latency = await measure_latency(contender, engine, sample)
                noticed = tuple((notice.code, notice.text) for notice in engine.notices)
                measured = Measurement(
                    parts=contender.parts.digest, latency=latency, notices=noticed
                )
                write_measurement(journal_folder, name, measured)
                sink = RowSink(contender.id, journal, self.limit, options.emit)
                tally = await run_rows(contender, engine, self._todo(), sink)
        finally:
            await engine.close()
        write_measurement(
            journal_folder,
            name,
            measured.model_copy(
                update={
                    "seconds": tally.seconds,
                    "rows": tally.rows,
                    "completion_tokens": tally.completion_tokens,
                    "prompt_tokens": tally.prompt_tokens,
                    "batch_sum": tally.batch_sum,
                }
            ),
        )

    def _latency_known(self, journal_folder: Path) -> bool:
        if self.options.latency_rows < 1 or self.contender.facts.architecture == "baseline":
            return True
        found = read_measurements(journal_folder, self.contender.parts.digest)
        return any(m.latency is not None for m in found)

    def _todo(self, limit: int | None = None) -> Iterator[PlannedRow]:
        rows = planned_rows(
            self.contender,
            self.plan.dataset,
            self.plan.roles,
            self.plan.spec.repeats,
            self.places,
        )
        taken = 0
        for planned in rows:
            if self.index.settled(planned.key):
                continue
            yield planned
            taken += 1
            if limit is not None and taken >= limit:
                return


def latency_sample(rows: Sequence[PlannedRow], count: int) -> list[PlannedRow]:
    """Up to `count` rows spread evenly, and one more in front as a warm-up."""
    usable = [row for row in rows if row.refused is None and row.repeat == 0]
    if not usable or count < 1:
        return []
    size = min(count, len(usable))
    spread = [usable[i * len(usable) // size] for i in range(size)]
    return [spread[0], *spread]


def run_folder(spec: RunSpec, runs: Path) -> Path:
    """Where the run of a spec lives.

    Raises:
        InvalidSpec: the place is taken by a file.
    """
    folder = runs / spec.name
    if os.path.isfile(folder):
        raise InvalidSpec(f"{folder} is a file: choose another `name:`")
    return folder


def started_at() -> str:
    """Now, UTC, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
