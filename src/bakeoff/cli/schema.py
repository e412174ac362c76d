"""`bakeoff schema`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class What(StrEnum):
    """What the schema describes."""

    SPEC = "spec"
    REPORT = "report"
    ROW = "row"
    DOCTOR = "doctor"


def schema(
    what: Annotated[What, typer.Argument(help="What the schema describes.")] = What.SPEC,
) -> None:
    """Print the JSON Schema of what bakeoff reads or writes.

    `spec` is what `bakeoff run` reads, `report` report.json, `row` a line of the journal, `doctor`
    what `bakeoff doctor --json` prints.
    """
    import json

    from pydantic import TypeAdapter

    from bakeoff.core.report import Report
    from bakeoff.core.results import RowResult
    from bakeoff.core.specs import RunSpec
    from bakeoff.engines.doctor.diagnosis import Diagnosis

    kinds: dict[What, type] = {
        What.SPEC: RunSpec,
        What.REPORT: Report,
        What.ROW: RowResult,
        What.DOCTOR: Diagnosis,
    }
    made = TypeAdapter(kinds[what]).json_schema()
    typer.echo(json.dumps(made, indent=2, ensure_ascii=False))
