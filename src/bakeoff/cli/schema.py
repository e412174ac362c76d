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


def schema(
    what: Annotated[What, typer.Argument(help="What the schema describes.")] = What.SPEC,
) -> None:
    """Print a JSON Schema: of the spec, of report.json, or of a journal line."""
    import json

    from pydantic import BaseModel

    from bakeoff.core.report import Report
    from bakeoff.core.results import RowResult
    from bakeoff.core.specs import RunSpec

    models: dict[What, type[BaseModel]] = {
        What.SPEC: RunSpec,
        What.REPORT: Report,
        What.ROW: RowResult,
    }
    typer.echo(json.dumps(models[what].model_json_schema(), indent=2, ensure_ascii=False))
