"""The leaderboard on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from bakeoff.cli.flagwords import Wording
from bakeoff.cli.plain import one_line
from bakeoff.cli.scoretable import Line, ScoreTable, fitted, shown_metrics
from bakeoff.core.plural import counted
from bakeoff.core.report import Report

WIDE = 200
"""Columns where nobody looks: whoever reads the file later may scroll."""


def make_console() -> Console:
    """For tables on standard output."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)


def print_report(
    report: Report, folder: Path, said: Collection[str] = (), wording: Wording = str
) -> None:
    """Leaderboard, warnings and where the files are, on standard output.

    Args:
        report: of the run.
        folder: of the run.
        said: notices that were shown already; they are not repeated.
        wording: what warnings become, for commands without a spec.
    """
    console = make_console()
    table, left_out = fitted(leaderboard(report), console)
    console.print(table)
    if left_out:
        names = escape(", ".join(left_out))
        console.print(f"in the report, not in this table: {names}")
    if report.verdict is not None:
        console.print(escape(one_line(report.verdict.sentence)), style="bold")
    for text in remarks(report, said):
        console.print(f"[yellow]![/yellow] {escape(one_line(wording(text)))}")
    page = folder / "report.html"
    console.print(f"\nreport: {escape(one_line(str(page)))}", soft_wrap=True)


def leaderboard(report: Report) -> ScoreTable:
    """Models, best first, with intervals and what was measured."""
    lines = []
    for model_id in report.ranking or tuple(report.models):
        model = report.models[model_id]
        more = {
            "tok/s": _speed(model.tokens_per_s),
            "p50 s": f"{model.latency.p50:.2f}" if model.latency else "-",
            "failed": str(model.failures or "-"),
            "notes": notes(report, model_id),
        }
        lines.append(Line(model_id, report.scores.get(model_id, {}), more))
    return ScoreTable(
        title=f"{report.name}: {report.task}, {counted(report.data.rows, 'row')}",
        head="model",
        metrics=report.metrics,
        names=shown_metrics(report.metrics, report.ranked_by),
        lines=lines,
        dispensable=("p50 s", "notes", "tok/s"),
    )


def _speed(tokens_per_s: float | None) -> str:
    if not tokens_per_s:
        return "-"
    return f"{tokens_per_s:.1f}" if tokens_per_s < 1000 else f"{tokens_per_s:.0f}"


def notes(report: Report, model_id: str) -> list[str]:
    """What happened to a model's rows, in a few words."""
    model = report.models[model_id]
    counts = (
        (model.truncated, "cut"),
        (model.ran_to_limit, "at limit"),
        (model.looped, "looped"),
        (model.empty, "empty"),
    )
    return [f"{count} {text}" for count, text in counts if count]


def remarks(report: Report, said: Collection[str] = ()) -> Iterator[str]:
    """Each warning once: what holds for several models names them together."""
    known = {text.partition(" no reference")[0] for text in said}
    found: dict[str, list[str]] = {}
    for warning in report.warnings:
        begins, counts, _ = warning.text.partition(" no reference")
        if warning.text in said or (counts and begins in known):
            continue
        name, colon, rest = warning.text.partition(": ")
        whose = found.setdefault(rest if colon and name in report.models else warning.text, [])
        whose += [name] if colon and name in report.models else []
    for text, names in found.items():
        yield f"{', '.join(names)}: {text}" if names else text
