"""One model of a run: what is missing is planned, the model loaded, its rows carried out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.core.errors import (
    BakeoffError,
    CallerError,
    EngineFailed,
    ModelError,
    ModelLoadFailed,
    TooManyFailures,
)
from bakeoff.core.ports import Engine
from bakeoff.core.report import LatencySummary
from bakeoff.engines import open_engine
from bakeoff.jobs.asking import AskedWith, asked_with
from bakeoff.jobs.contender import Contender, in_epoch, model_ids
from bakeoff.jobs.events import ModelFinished, ModelLoading, ModelPlanned, ModelReady, Noticed
from bakeoff.jobs.execute import FailureLimit, RowSink, Tally, run_rows
from bakeoff.jobs.faults import cause_of, translated
from bakeoff.jobs.latency import latency_sample, measure_latency
from bakeoff.jobs.outlook import Outlook, outlook
from bakeoff.jobs.plan import PlannedRow, planned_rows
from bakeoff.jobs.planning import Plan, RunOptions
from bakeoff.jobs.reporting import ModelRecord
from bakeoff.jobs.rowlog import RowLog
from bakeoff.store.files.journal import JournalIndex, JournalWriter, SegmentHeader, journals_of
from bakeoff.store.files.measurements import (
    Conditions,
    Measurement,
    read_measurements,
    write_measurement,
)
from bakeoff.store.files.runfolder import RunFolder, new_writer

SAMPLED_FROM = 2000
"""The rows of the latency pass are spread over so many of those that are missing."""


@dataclass(frozen=True, slots=True)
class Running:
    """What all models of a run share.

    Attributes:
        limit: counts failures over all models.
    """

    plan: Plan
    folder: RunFolder
    options: RunOptions
    limit: FailureLimit


async def one_model(running: Running, model_id: str) -> tuple[ModelRecord, TooManyFailures | None]:
    """Carry out what is missing of a model; what ends it as a whole stands in the record."""
    if model_id in running.plan.broken:
        return _broken(running, model_id)
    work = _ModelWork.of(running, model_id)
    error: BakeoffError | None = None
    stopped: TooManyFailures | None = None
    if work.view.todo:
        try:
            await work.do()
        except TooManyFailures as problem:
            stopped = problem
        except (ModelError, EngineFailed, CallerError) as problem:
            error = problem
            _log_failure(running.folder, model_id, problem)
            if not isinstance(problem, CallerError):
                stopped = _count(running.limit, work.unsettled)
    running.options.emit(ModelFinished(model_id, error.message if error else None))
    return ModelRecord(model_id, work.contender, work.view.reused, error), stopped


def untouched(running: Running, model_id: str) -> ModelRecord:
    """The record of a model whose turn never came."""
    index = JournalIndex(running.folder.rows(model_id))
    contender = _current(running.plan.contenders[model_id], index, running.folder)
    return ModelRecord(model_id, contender, 0, None)


def _broken(running: Running, model_id: str) -> tuple[ModelRecord, TooManyFailures | None]:
    problem = running.plan.broken[model_id]
    running.options.emit(ModelFinished(model_id, problem.message))
    _log_failure(running.folder, model_id, problem)
    stopped = _count(running.limit, running.plan.rows_of(model_id))
    return ModelRecord(model_id, None, 0, problem), stopped


def _log_failure(folder: RunFolder, model_id: str, problem: BakeoffError) -> None:
    cause = cause_of(problem)
    more = {"cause": cause} if cause else {}
    folder.log("model failed", model=model_id, code=problem.code, error=problem.message, **more)


def _count(limit: FailureLimit, rows: int) -> TooManyFailures | None:
    try:
        limit.add(rows)
    except TooManyFailures as problem:
        return problem
    return None


def _kept_elsewhere(running: Running, contender: Contender, index: JournalIndex) -> tuple[str, ...]:
    """Where rows of the same model are kept that no model of the spec reads any more."""
    if index.parts:
        return ()
    ids = running.plan.spec.models
    found = journals_of(running.folder.rows(""), str(contender.parts.values["model"]))
    idle = [name for name in found if name not in model_ids(ids)]
    if not idle:
        return ()
    return (f"rows of this model are kept under the id {idle[0]!r}, and the id names the journal",)


def _current(contender: Contender, index: JournalIndex, folder: RunFolder) -> Contender:
    return in_epoch(contender, max(index.epoch, folder.epoch()))


@dataclass(slots=True)
class _ModelWork:
    """One attempt at one model."""

    running: Running
    contender: Contender
    index: JournalIndex
    view: Outlook
    unsettled: int
    """Rows and repeats without a line, as far as is known."""
    asked: AskedWith
    """What its rows are asked with, for the header of its segment."""

    @classmethod
    def of(cls, running: Running, model_id: str) -> _ModelWork:
        """Look at what is there, and say what is missing."""
        plan, folder = running.plan, running.folder
        index = JournalIndex(folder.rows(model_id))
        contender = _current(plan.contenders[model_id], index, folder)
        rows = planned_rows(contender, plan.dataset, plan.roles, plan.spec.repeats)
        asked = asked_with(plan.spec, contender.entry, plan.roles)
        view = outlook(contender, rows, index, asked)
        why = view.why or _kept_elsewhere(running, contender, index)
        running.options.emit(
            ModelPlanned(model_id, view.total, view.todo, why, view.first, view.reused)
        )
        folder.log(
            "model",
            model=model_id,
            total=view.total,
            todo=view.todo,
            why=list(why),
            rows=list(view.first),
        )
        return cls(running, contender, index, view, view.todo, asked)

    async def do(self) -> None:
        """Load the model, time a few rows, then carry out what is missing."""
        contender, options = self.contender, self.running.options
        taken = contender.route
        options.emit(ModelLoading(contender.id, contender.facts.ref.uri, taken.engine))
        with translated("loading the model", ModelLoadFailed):
            engine = await open_engine(taken.engine, contender.facts, options.engine, taken.why)
        options.emit(ModelReady(contender.id))
        for notice in engine.notices:
            options.emit(Noticed(notice.code, f"{contender.id}: {notice.text}"))
        try:
            await self._carry_out(engine)
        finally:
            await engine.close()

    async def _carry_out(self, engine: Engine) -> None:
        folder = self.running.folder.rows(self.contender.id)
        header = self._header(engine)
        name = f"{header.attempt:04d}-{header.writer}"
        with JournalWriter(folder, header) as journal:
            measured = Measurement(
                parts=self.contender.measured_as,
                conditions=self._conditions(engine),
                notices=tuple((notice.code, notice.text) for notice in engine.notices),
            )
            latency = await self._latency(engine, measured)
            measured = measured.model_copy(update={"latency": latency})
            write_measurement(folder, name, measured)
            tally = await self._rows(engine, journal)
        figures = ("seconds", "rows", "completion_tokens", "prompt_tokens", "batch_sum")
        update = {figure: getattr(tally, figure) for figure in figures}
        write_measurement(folder, name, measured.model_copy(update=update))

    async def _rows(self, engine: Engine, journal: JournalWriter) -> Tally:
        told = RowLog(self.running.folder, self.contender.id, self.view.todo)
        emit = told.beside(self.running.options.emit)
        sink = RowSink(self.contender.id, journal, self.running.limit, emit)
        try:
            return await run_rows(self.contender, engine, self._todo(), sink)
        finally:
            self.unsettled -= sink.written
            told.close()

    def _header(self, engine: Engine) -> SegmentHeader:
        return SegmentHeader(
            writer=new_writer(),
            attempt=self.index.attempt + 1,
            engine=engine.info.name,
            version=engine.info.version,
            device=engine.info.device,
            dtype=engine.info.dtype,
            parts=self.contender.parts.values,
            asked=self.asked.values,
        )

    def _conditions(self, engine: Engine) -> Conditions:
        info, threads = engine.info, self.running.options.engine.threads
        return Conditions(
            engine=info.name,
            version=info.version,
            device=info.device,
            dtype=info.dtype,
            threads=threads or os.cpu_count() or 1,
        )

    async def _latency(self, engine: Engine, measured: Measurement) -> LatencySummary | None:
        """Seconds a row, unless they are known under these conditions."""
        rows = self.running.options.latency_rows
        if rows < 1 or self.contender.facts.architecture == "baseline":
            return None
        known = read_measurements(self.running.folder.rows(self.contender.id), measured.parts)
        if any(m.latency is not None and m.conditions == measured.conditions for m in known):
            return None
        sample = latency_sample(list(self._todo(limit=SAMPLED_FROM)), rows)
        with translated("timing rows", EngineFailed):
            return await measure_latency(self.contender, engine, sample)

    def _todo(self, limit: int | None = None) -> Iterator[PlannedRow]:
        plan = self.running.plan
        rows = planned_rows(
            self.contender, plan.dataset, plan.roles, plan.spec.repeats, self.view.places
        )
        taken = 0
        for planned in rows:
            if self.index.settled(planned.key):
                continue
            yield planned
            taken += 1
            if limit is not None and taken >= limit:
                return
