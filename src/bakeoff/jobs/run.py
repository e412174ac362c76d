"""Carry out a spec in a run folder, from the first file read to the report."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from bakeoff.core.errors import InvalidSpec, TooManyFailures
from bakeoff.core.report import Report
from bakeoff.core.specs import RunSpec
from bakeoff.jobs.contender import model_ids
from bakeoff.jobs.events import Noticed, RunStarted, Stage
from bakeoff.jobs.execute import FailureLimit
from bakeoff.jobs.freeze import frozen_spec
from bakeoff.jobs.modelwork import Running, one_model, untouched
from bakeoff.jobs.planning import Plan, RunOptions, make_plan, refuse_later_features
from bakeoff.jobs.reporting import ModelRecord, RunRecord, write_outputs
from bakeoff.jobs.specfile import check_numbers
from bakeoff.jobs.spechints import hinted
from bakeoff.store.files.journal import newest_epoch
from bakeoff.store.files.runfolder import RunFolder

__all__ = ["RunOptions", "make_plan", "refuse_later_features", "run", "run_folder"]


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
        stack.enter_context(
            folder.locked(options.wait, lambda text: options.emit(Noticed("run-locked", text)))
        )
        with hinted(spec):
            plan = make_plan(spec, options)
        return await _logged(plan, folder, options)


async def _logged(plan: Plan, folder: RunFolder, options: RunOptions) -> Report:
    """Carry out; the log tells of an end by Ctrl-C or SIGTERM."""
    try:
        return await _carry_out(plan, folder, options)
    except (asyncio.CancelledError, KeyboardInterrupt):
        folder.log("interrupted")
        raise


async def _carry_out(plan: Plan, folder: RunFolder, options: RunOptions) -> Report:
    emit = options.emit
    ids = tuple(model_ids(plan.spec.models))
    folder.write_spec(frozen_spec(plan.spec, plan.roles, plan.contenders, plan.metrics))
    folder.log("run", name=plan.spec.name, rows=plan.total_rows, models=list(ids))
    again = folder.rows("").is_dir()
    emit(RunStarted(plan.spec.name, str(folder.path), plan.total_rows, ids, again))
    for notice in plan.notices:
        emit(Noticed(notice.code, notice.text))
    if options.fresh:
        _begin_epoch(folder, ids)
    running = Running(plan, folder, options, FailureLimit(plan.spec.max_failures))
    records: dict[str, ModelRecord] = {}
    stopped: TooManyFailures | None = None
    for model_id in ids:
        if stopped is None or model_id in plan.broken:
            records[model_id], too_many = await one_model(running, model_id)
            stopped = stopped or too_many
        else:
            records[model_id] = untouched(running, model_id)
    emit(Stage("report"))
    run_record = RunRecord(
        plan.spec, plan.dataset, plan.roles, plan.task, plan.metrics, records, stopped
    )
    report = write_outputs(run_record, plan.notices, folder)
    folder.log("report", status=report.status)
    return report


def _begin_epoch(folder: RunFolder, ids: Iterable[str]) -> None:
    """Ask all models for rows of an epoch that none of them has begun."""
    begun = [newest_epoch(folder.rows(model_id)) for model_id in ids]
    folder.raise_epoch(max((epoch + 1 for epoch in begun if epoch is not None), default=0))


def run_folder(spec: RunSpec, runs: Path) -> Path:
    """Where the run of a spec lives.

    Raises:
        InvalidSpec: the place is taken by a file.
    """
    folder = runs / spec.name
    if os.path.isfile(folder):
        raise InvalidSpec(f"{folder} is a file: choose another `name:`")
    return folder
