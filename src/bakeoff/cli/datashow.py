"""What `bakeoff data` prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bakeoff.cli.plain import one_line
from bakeoff.datasets.profile import ColumnProfile, DataProfile

MOST_COLUMNS = 200
"""In the table; thousands take longer to lay out than to read, and `--json` shows them all."""

RoleGuesses = Mapping[str, Mapping[str, Any]]
"""Task to role to column."""


def print_profile(found: DataProfile, roles: RoleGuesses, as_json: bool) -> None:
    """As tables, or as one JSON object."""
    if as_json:
        values = {**asdict(found), "tasks": {task: dict(of) for task, of in roles.items()}}
        sys.stdout.write(json.dumps(values, allow_nan=False, indent=1, default=str) + "\n")
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(
        f"{escape(one_line(found.name))}: {found.rows} rows, {len(found.columns)} columns"
    )
    console.print(_columns(found))
    if len(found.columns) > MOST_COLUMNS:
        console.print(f"... and {len(found.columns) - MOST_COLUMNS} more columns: see --json")
    for task, of in roles.items():
        pairs = ", ".join(f"{role} = {_listed(column)}" for role, column in of.items())
        console.print(f"fits {task}: {escape(one_line(pairs))}")
    for line in _remarks(found):
        console.print(f"! {escape(one_line(line))}")
    console.print(f"hash {found.hash}")


def _listed(column: object) -> str:
    return " + ".join(map(str, column)) if isinstance(column, list) else str(column)


def _columns(found: DataProfile) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for name in ("column", "filled", "blank", "distinct", "characters", "scripts", "for example"):
        right = name in ("filled", "blank", "distinct")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for column in found.columns[:MOST_COLUMNS]:
        table.add_row(*(escape(one_line(cell)) for cell in _cells(column)))
    return table


def _cells(column: ColumnProfile) -> tuple[str, ...]:
    least = "" if column.distinct_exact else "at least "
    lengths = f"{column.shortest} to {column.longest}, median {column.median}, p95 {column.p95}"
    scripts = ", ".join(f"{name} {count}" for name, count in column.scripts.items())
    example = column.samples[0] if column.samples else ""
    example = example if len(example) <= 40 else example[:39] + "…"
    return (
        column.name,
        str(column.filled),
        str(column.blank or "-"),
        f"{least}{column.distinct}",
        lengths if column.filled else "-",
        scripts or "-",
        " ".join(example.split()),
    )


def _remarks(found: DataProfile) -> list[str]:
    lines = [notice.text for notice in found.notices]
    if found.identical_rows:
        lines.append(f"{found.identical_rows} rows repeat an earlier row in every cell")
    for column, rows in found.repeated.items():
        lines.append(f"{column}: {rows} cells repeat an earlier one")
    if found.groups:
        lines.append(f"groups or labels may stand in: {', '.join(found.groups)}")
    if found.ids:
        lines.append(f"could be the id: {', '.join(found.ids)}")
    for of in found.columns:
        lines += [f"{of.name}: {p.text}, in {p.rows} rows, first at {p.first}" for p in of.problems]
    return lines
