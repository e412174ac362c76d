"""The table of `bakeoff compare`."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bakeoff.cli.leaderboard import number
from bakeoff.cli.plain import one_line
from bakeoff.jobs.comparing import Comparison


def print_comparison(found: Comparison, as_json: bool) -> None:
    """As a table, or as one JSON object."""
    if as_json:
        sys.stdout.write(json.dumps(_values(found), allow_nan=False, indent=1) + "\n")
        return
    table = Table(box=SIMPLE_HEAD, title=f"{found.shared} rows in common", title_justify="left")
    table.add_column("run/model", overflow="fold")
    names = [name for name, m in found.metrics.items() if m.better] or list(found.metrics)
    names.sort(key=lambda name: name != found.ranked_by)
    for name in names[:6]:
        table.add_column(escape(name), justify="right")
    table.add_column("failed", justify="right")
    for model in found.models:
        cells = [number(model.scores.get(n), found.metrics[n].scale) for n in names[:6]]
        table.add_row(escape(one_line(model.label)), *cells, str(model.failed or "-"))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    console.print(table)
    for label, rows in found.left_out.items():
        if rows:
            console.print(
                f"! {escape(one_line(label))}: {rows} rows are not in all runs and are left out"
            )
    for note in found.notes:
        console.print(f"! {escape(one_line(note))}")


def _values(found: Comparison) -> dict[str, Any]:
    return {
        "shared": found.shared,
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
