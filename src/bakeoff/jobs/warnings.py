"""What a reader of the report must know before trusting a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bakeoff.core.errors import TooManyFailures
from bakeoff.core.plural import counted, verb
from bakeoff.core.report import ModelSummary, Report, Warning
from bakeoff.core.rows import Notice
from bakeoff.store.files.journal import Damage


def report_warnings(
    report: Report,
    notices: Sequence[Notice],
    damage: Damage,
    stopped: TooManyFailures | None,
    repeats: int = 1,
) -> tuple[Warning, ...]:
    """The report's own, notices of data and models, counts above zero, what the journal lost."""
    found = list(report.warnings)
    # Rows without a reference are counted again below, as the task reads them.
    kept = [n for n in notices if n.code != "references-missing"]
    found += [Warning(code=n.code, text=n.text, rows=n.rows) for n in kept]
    if stopped is not None:
        found.append(Warning(code="stopped-early", text=stopped.message))
    most = max((model.rows for model in report.models.values()), default=0)
    for model_id, model in report.models.items():
        found += _of_model(model_id, model, most, repeats)
    if not report.data.with_reference and report.data.rows:
        text = "no row has a reference: only reference-free metrics are computed"
        found.append(Warning(code="no-reference", text=text, rows=report.data.rows))
    elif report.data.with_reference < report.data.rows:
        lacking = report.data.rows - report.data.with_reference
        text = (
            f"{lacking} of {report.data.rows} rows {verb(lacking, 'has', 'have')} no reference and "
            f"{verb(lacking, 'is', 'are')} not scored"
        )
        found.append(Warning(code="some-without-reference", text=text, rows=lacking))
    if damage.torn:
        lines = counted(damage.torn, "journal line")
        text = f"{lines} {verb(damage.torn, 'was', 'were')} cut off by a killed process and redone"
        found.append(Warning(code="torn-lines", text=text, rows=damage.torn))
    if damage.broken:
        text = f"{counted(damage.broken, 'journal line')} cannot be read: the rows were redone"
        found.append(Warning(code="broken-lines", text=text, rows=damage.broken))
    return tuple(dict.fromkeys(found))


_COUNTS = (
    ("failures", "failures", "rows failed"),
    ("truncated", "truncated", "rows had their input cut"),
    ("ran_to_limit", "ran-to-limit", "answers ran into the length limit"),
    ("looped", "looped", "answers fell into a loop"),
    ("empty", "empty", "answers are empty"),
)


def _of_model(model_id: str, model: ModelSummary, most: int, repeats: int) -> Iterable[Warning]:
    """Counts are of answers: where rows are asked several times, the words say so."""
    if model.rows < most:
        asked, others = model.rows // repeats, most // repeats
        text = f"{model_id} was asked {counted(asked, 'row')} only (its limit), others {others}"
        yield Warning(code="fewer-rows", text=text, rows=others - asked)
    for field, code, text in _COUNTS:
        count = getattr(model, field)
        if count:
            more = f" ({model.tokens_cut} tokens)" if field == "truncated" else ""
            if field == "failures":
                more = f" ({', '.join(f'{c}: {n}' for c, n in model.failure_codes.items())})"
            said = text if repeats == 1 else text.replace("rows ", "answers ")
            said = said.replace("are ", "is ").replace("their", "its") if count == 1 else said
            yield Warning(
                code=code, text=f"{model_id}: {count} of {model.rows} {said}{more}", rows=count
            )
