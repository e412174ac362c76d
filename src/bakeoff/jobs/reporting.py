"""From journals to report.json, tables and page. Can be done again from what is stored."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Literal

from bakeoff._version import __version__
from bakeoff.core.canonical import digest
from bakeoff.core.errors import BakeoffError, ModelError, TooManyFailures
from bakeoff.core.ports import Dataset, Metric, Task
from bakeoff.core.report import MetricSummary, ModelSummary, Report
from bakeoff.core.rows import Notice, TaskRow
from bakeoff.core.specs import RunSpec
from bakeoff.datasets.roles import RoleMap
from bakeoff.jobs.answers import (
    ModelAnswers,
    blank_answers,
    collect_answers,
    missing_model,
    references_of,
    task_rows,
)
from bakeoff.jobs.compared import Answered, compared_rows, row_scores
from bakeoff.jobs.contender import Contender
from bakeoff.jobs.deciding import Decision, Evidence, decide
from bakeoff.jobs.intervals import group_codes, model_scores, model_units
from bakeoff.jobs.page.render import write_page
from bakeoff.jobs.scoring import Scored, score_all
from bakeoff.jobs.summaries import data_summary, failed_summary, mixed_conditions, model_summary
from bakeoff.jobs.tables import read_predictions, write_predictions, write_scores
from bakeoff.jobs.warnings import report_warnings
from bakeoff.store.files.journal import Damage
from bakeoff.store.files.measurements import read_measurements
from bakeoff.store.files.runfolder import RunFolder


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """What a run did for one model.

    Attributes:
        contender: None where the model could not even be described.
        reused: rows that an earlier attempt had settled.
        error: what ended the model as a whole, or None.
    """

    model: str
    contender: Contender | None
    reused: int
    error: BakeoffError | None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run whose rows are in the journals."""

    spec: RunSpec
    dataset: Dataset
    roles: RoleMap
    task: Task
    metrics: Sequence[Metric]
    models: dict[str, ModelRecord]
    stopped: TooManyFailures | None


def write_outputs(record: RunRecord, notices: Sequence[Notice], folder: RunFolder) -> Report:
    """Score, summarise and write everything; report.json is written last but for the page."""
    rows = list(task_rows(record.dataset, record.roles))
    damage = Damage()
    answers = _answers(record, rows, folder, damage)
    references = references_of(record.task, record.roles, rows)
    scored = score_all(record.metrics, answers, {row.id: row for row in rows}, references)
    for metric, cause in scored.causes:
        folder.log("metric failed", metric=metric, cause=cause)
    report = _report(record, rows, answers, scored, folder)
    given = sum(bool(found) for found in references.values())
    report = report.model_copy(
        update={"data": report.data.model_copy(update={"with_reference": given})}
    )
    blank = blank_answers(references)
    mixed = [notice for one in answers for notice in mixed_conditions(one)]
    found = [*notices, *blank, *_loading_notices(record, folder), *mixed, *scored.notices]
    warnings = report_warnings(report, found, damage, record.stopped, record.spec.repeats)
    report = report.model_copy(update={"warnings": warnings})
    answered = Answered(rows, answers, record.spec.repeats, references)
    write_predictions(folder.path, compared_rows(answered, scored))
    write_scores(folder.path, row_scores(answers, scored))
    folder.write_report(report)
    write_report_page(report, folder)
    return report


def _loading_notices(record: RunRecord, folder: RunFolder) -> list[Notice]:
    """What was noticed while the models were loaded, in this run or an earlier one."""
    return [
        Notice(code, f"{model_id}: {text}")
        for model_id, model in record.models.items()
        if model.contender is not None
        for measured in read_measurements(folder.rows(model_id), model.contender.measured_as)
        for code, text in measured.notices
    ]


def write_report_page(report: Report, folder: RunFolder) -> None:
    """Make report.html from what is stored."""
    rows = read_predictions(folder.path)
    write_page(folder.page_file, report, rows, folder.read_spec_text())


def _answers(
    record: RunRecord, rows: Sequence[TaskRow], folder: RunFolder, damage: Damage
) -> list[ModelAnswers]:
    repeats = record.spec.repeats
    found = []
    for model_id, model in record.models.items():
        if model.contender is None:
            error = model.error or ModelError("the model could not be read")
            limit = dict(zip(record.models, record.spec.models, strict=True))[model_id].limit
            found.append(missing_model(model_id, rows[:limit], repeats, error))
            continue
        journal = folder.rows(model_id)
        error_of = model.error
        found.append(collect_answers(model.contender, rows, repeats, journal, error_of, damage))
    return found


def _report(
    record: RunRecord,
    rows: Sequence[TaskRow],
    answers: Sequence[ModelAnswers],
    scored: Scored,
    folder: RunFolder,
) -> Report:
    groups = group_codes([row.group for row in rows])
    units = {a.model: model_units(scored.by_model[a.model], a, rows) for a in answers}
    scores = {
        a.model: model_scores(scored.by_model[a.model], units[a.model], a, groups) for a in answers
    }
    models = {a.model: _summary(record, a, folder) for a in answers}
    metrics = _metric_summaries(scored)
    asked = {a.model: len(a.results) for a in answers}
    limited = [m for m, rows in asked.items() if rows < max(asked.values())]
    decision = decide(record.spec.decide, Evidence(metrics, scores, units, scored, groups, limited))
    return Report(
        name=record.spec.name,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        status=_status(record, models),
        data=data_summary(record.dataset, record.roles, rows),
        task=record.spec.task.kind,
        spec_hash=_spec_hash(record),
        models=models,
        metrics=metrics,
        scores=scores,
        **_decided(decision),
        versions=_versions(),
    )


def _spec_hash(record: RunRecord) -> str:
    """The same spec in another folder has the same hash; the data have one of their own."""
    values = record.spec.model_dump(mode="json")
    values["dataset"]["path"] = record.dataset.name
    return digest(values)


def _summary(record: RunRecord, answers: ModelAnswers, folder: RunFolder) -> ModelSummary:
    model = record.models[answers.model]
    if model.contender is None:
        entry = dict(zip(record.models, record.spec.models, strict=True))[answers.model]
        return failed_summary(entry.model or entry.endpoint or "", entry.engine, answers)
    measured = read_measurements(folder.rows(answers.model), model.contender.measured_as)
    return model_summary(model.contender, answers, measured, model.reused)


def _decided(decision: Decision) -> dict[str, Any]:
    return {
        "ranking": decision.ranking,
        "ranked_by": decision.metric,
        "pairs": decision.pairs,
        "tiers": decision.tiers,
        "verdict": decision.verdict,
        "warnings": decision.warnings,
    }


def _metric_summaries(scored: Scored) -> dict[str, MetricSummary]:
    found: dict[str, MetricSummary] = {}
    for of_model in scored.by_model.values():
        for name, scores in of_model.items():
            output = scores.scores.output
            found[name] = MetricSummary(
                metric=scores.family,
                scale=output.scale,
                better=output.better,
                kind=output.kind,
                unit=output.unit,
                graded=output.graded,
                signature=scores.scores.signature,
            )
    return found


def _status(
    record: RunRecord, models: dict[str, ModelSummary]
) -> Literal["finished", "partial", "stopped-early"]:
    if record.stopped is not None:
        return "stopped-early"
    return "partial" if any(m.failures for m in models.values()) else "finished"


def _versions() -> dict[str, str]:
    found = {"bakeoff": __version__, "python": platform.python_version()}
    for name in (
        "torch",
        "transformers",
        "ctranslate2",
        "tokenizers",
        "sacrebleu",
        "rouge-score",
        "numpy",
    ):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
