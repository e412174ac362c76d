"""What `bakeoff data` prints."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bakeoff.cli.plain import one_line
from bakeoff.core.plural import counted, verb
from bakeoff.datasets.profile import ColumnProfile, DataProfile, Problem

MOST_COLUMNS = 200
"""In the table; thousands take longer to lay out than to read, and `--json` shows them all."""

RoleGuesses = Mapping[str, Mapping[str, Any]]
"""Task to role to column."""


@dataclass(frozen=True, slots=True)
class Guesses:
    """What the names of columns suggest.

    Attributes:
        tasks: that the names fit, each with role to column.
        roles: role to column, whatever the task.
        warnings: why a column cannot play its role after all.
    """

    tasks: RoleGuesses
    roles: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def print_profile(found: DataProfile, guesses: Guesses, as_json: bool) -> None:
    """As tables, or as one JSON object."""
    if as_json:
        values = {**asdict(found), **asdict(guesses)}
        sys.stdout.write(json.dumps(values, allow_nan=False, indent=1, default=str) + "\n")
        return
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(
        f"{escape(one_line(found.name))}: {counted(found.rows, 'row')}, "
        f"{counted(len(found.columns), 'column')}"
    )
    console.print(_columns(found))
    if len(found.columns) > MOST_COLUMNS:
        console.print(f"... and {len(found.columns) - MOST_COLUMNS} more columns: see --json")
    for line in _roles(guesses):
        console.print(escape(one_line(line)))
    for line in (*guesses.warnings, *_remarks(found)):
        console.print(f"! {escape(one_line(line))}")
    console.print(f"hash {found.hash}")


def _roles(guesses: Guesses) -> Iterator[str]:
    for task, of in guesses.tasks.items():
        yield f"fits {task}: {_pairs(of)}"
    if not guesses.tasks:
        yield f"roles, by the names: {_pairs(guesses.roles) or 'none'}"
        if "source" not in guesses.roles:
            yield "no column has a usual name for the source: -c source=COLUMN names it"


def _pairs(roles: Mapping[str, Any]) -> str:
    return ", ".join(f"{role} = {_listed(column)}" for role, column in roles.items())


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
        rows = counted(found.identical_rows, "row")
        repeat = verb(found.identical_rows, "repeats", "repeat")
        lines.append(f"{rows} {repeat} an earlier row in every cell")
    for column, count in found.repeated.items():
        repeat = verb(count, "repeats", "repeat")
        lines.append(f"{column}: {counted(count, 'cell')} {repeat} an earlier one")
    if found.groups:
        lines.append(f"groups or labels may stand in: {', '.join(found.groups)}")
    if found.ids:
        lines.append(f"could be the id: {', '.join(found.ids)}")
    for of in found.columns:
        lines += [f"{of.name}: {p.text}, in {_where(p)}" for p in of.problems]
    return lines


def _where(problem: Problem) -> str:
    place = f"{problem.unit} {problem.first}" + " of the file" * (problem.unit == "line")
    return f"{counted(problem.rows, 'row')}, first in {place}"
