"""The table of `bakeoff compare`."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.markup import escape

from bakeoff.cli.leaderboard import make_console
from bakeoff.cli.plain import one_line
from bakeoff.cli.scoretable import Line, ScoreTable, fitted, shown_metrics
from bakeoff.core.plural import counted, verb
from bakeoff.jobs.comparing import Comparison


def print_comparison(found: Comparison, as_json: bool) -> None:
    """As a table, or as one JSON object."""
    if as_json:
        sys.stdout.write(json.dumps(_values(found), allow_nan=False, indent=1) + "\n")
        return
    console = make_console()
    table, left_out = fitted(_table(found), console)
    console.print(table)
    if left_out:
        console.print(f"not in this table, see --json: {escape(', '.join(left_out))}")
    for label, rows in found.left_out.items():
        if rows:
            be = verb(rows, "is", "are")
            text = f"{label}: {counted(rows, 'row')} {be} not in all runs and {be} left out"
            console.print(f"! {escape(one_line(text))}")
    for note in found.notes:
        console.print(f"! {escape(one_line(note))}")


def _table(found: Comparison) -> ScoreTable:
    title = f"{counted(found.shared, 'row')} in common"
    if found.compared < found.shared:
        title += f", {found.compared} compared"
    return ScoreTable(
        title=title,
        head="run/model",
        metrics=found.metrics,
        names=shown_metrics(found.metrics, found.ranked_by),
        lines=[
            Line(model.label, model.scores, {"failed": str(model.failed or "-")})
            for model in found.models
        ],
    )


def _values(found: Comparison) -> dict[str, Any]:
    return {
        "shared": found.shared,
        "compared": found.compared,
        "left_out": found.left_out,
        "ranked_by": found.ranked_by,
        "models": [
            {
                "label": m.label,
                "failed": m.failed,
                "scores": {n: s.model_dump(mode="json") for n, s in m.scores.items()},
            }
            for m in found.models
        ],
        "metrics": {n: m.model_dump(mode="json") for n, m in found.metrics.items()},
        "notes": list(found.notes),
    }
