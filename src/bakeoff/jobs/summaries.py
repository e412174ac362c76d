"""`ModelSummary` and `DataSummary`: the counts of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bakeoff.core.ports import Dataset
from bakeoff.core.report import DataSummary, ModelSummary
from bakeoff.core.results import RowResult
from bakeoff.core.rows import Notice, TaskRow
from bakeoff.datasets.roles import RoleMap
from bakeoff.jobs.answers import ModelAnswers
from bakeoff.jobs.contender import Contender
from bakeoff.store.files.journal import SegmentHeader
from bakeoff.store.files.measurements import Measurement, comparable


def data_summary(dataset: Dataset, roles: RoleMap, rows: Sequence[TaskRow]) -> DataSummary:
    """The rows that were used."""
    groups = {row.group for row in rows if row.group is not None}
    return DataSummary(
        name=dataset.name,
        hash=dataset.content_hash(),
        rows=len(rows),
        columns=dataset.columns,
        roles=roles.shown(),
        with_reference=sum(bool(row.references) for row in rows),
        groups=len(groups),
    )


def model_summary(
    contender: Contender,
    answers: ModelAnswers,
    measured: Sequence[Measurement],
    reused: int,
) -> ModelSummary:
    """Counts and figures of one model."""
    facts, header = contender.facts, answers.header
    measured = comparable(measured, header)
    counts = _counts(answers.results)
    seconds = sum(m.seconds for m in measured)
    tokens = sum(m.completion_tokens for m in measured)
    rows = sum(m.rows for m in measured)
    return ModelSummary(
        reference=_reference(contender),
        identity=facts.identity,
        engine=header.engine if header else contender.route.engine,
        version=header.version if header else "",
        device=header.device if header else "",
        dtype=header.dtype if header else "",
        adapters=facts.ref.adapters,
        numerics=facts.numerics,
        why=_why(contender, header),
        generation=contender.decoding.params.said(),
        origins=contender.origins,
        prefix=facts.prefix,
        rows=len(answers.results),
        reused=reused,
        tokens_per_s=tokens / seconds if tokens and seconds > 0 else None,
        seconds=seconds or None,
        batch=sum(m.batch_sum for m in measured) / rows if rows else None,
        latency=next((m.latency for m in reversed(measured) if m.latency), None),
        **counts,
    )


def _why(contender: Contender, header: SegmentHeader | None) -> str:
    """Why this engine; rows may be kept that another one made, whose texts are the same."""
    taken = contender.route
    if header is None or header.engine == taken.engine:
        return taken.why
    return f"made the rows that are kept; {taken.engine} would make others: {taken.why}"


def mixed_conditions(answers: ModelAnswers) -> list[Notice]:
    """What to say where the rows of one model were not all made alike."""
    if len(answers.made) < 2:
        return []
    listed = ", ".join(f"{rows} by {condition}" for condition, rows in answers.made)
    text = f"{answers.model}: not all rows were made alike: {listed}; --fresh makes all anew"
    return [Notice("mixed-conditions", text)]


def _reference(contender: Contender) -> str:
    """As the spec writes it; a local path is not made longer than it was."""
    ref, said = contender.facts.ref, contender.entry.model
    return said if ref.scheme == "file" and said else ref.uri


def failed_summary(reference: str, engine: str, answers: ModelAnswers) -> ModelSummary:
    """A model that could not be described."""
    return ModelSummary(
        reference=reference, engine=engine, rows=len(answers.results), **_counts(answers.results)
    )


def _counts(results: Sequence[RowResult]) -> dict[str, Any]:
    good = [r for r in results if r.ok]
    codes = Counter(r.error.code for r in results if r.error is not None)
    return {
        "done": len(good),
        "failures": len(results) - len(good),
        "failure_codes": dict(sorted(codes.items())),
        "truncated": sum(r.usage.cut > 0 for r in good),
        "tokens_cut": sum(r.usage.cut for r in good),
        "ran_to_limit": sum(r.finish == "length" for r in good),
        "looped": sum(bool(r.extra.get("looped")) for r in good),
        "empty": sum(not (r.text or "").strip() for r in good),
        "prompt_tokens": sum(r.usage.prompt for r in good),
        "completion_tokens": sum(r.usage.completion for r in good),
    }
