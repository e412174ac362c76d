"""The leaderboard on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bakeoff.cli.plain import one_line
from bakeoff.core.report import Report, Score


def print_report(report: Report, folder: Path) -> None:
    """Leaderboard, warnings and where the files are, on standard output."""
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    if not sys.stdout.isatty():
        console = Console(highlight=False, width=200)
    console.print(leaderboard(report))
    if report.verdict is not None:
        console.print(escape(one_line(report.verdict.sentence)), style="bold")
    for warning in report.warnings:
        console.print(f"[yellow]![/yellow] {escape(one_line(warning.text))}")
    page = folder / "report.html"
    console.print(f"\nreport: {escape(one_line(str(page)))}", soft_wrap=True)


def leaderboard(report: Report) -> Table:
    """Models, best first, with intervals and what was measured."""
    title = f"{report.name}: {report.task}, {report.data.rows} rows"
    table = Table(box=SIMPLE_HEAD, title=escape(one_line(title)), title_justify="left")
    table.add_column("model", overflow="fold")
    metrics = shown_metrics(report)
    for name in metrics:
        summary = report.metrics[name]
        arrow = {"higher": " ↑", "lower": " ↓", None: ""}[summary.better]
        table.add_column(escape(name + arrow), justify="right")
    for name in ("tok/s", "p50 s", "failed", "notes"):
        table.add_column(name, justify="left" if name == "notes" else "right")
    for model_id in report.ranking or tuple(report.models):
        model = report.models[model_id]
        scores = report.scores.get(model_id, {})
        table.add_row(
            escape(model_id),
            *(number(scores.get(name), report.metrics[name].scale) for name in metrics),
            f"{model.tokens_per_s:.1f}" if model.tokens_per_s else "-",
            f"{model.latency.p50:.2f}" if model.latency else "-",
            str(model.failures or "-"),
            notes(report, model_id),
        )
    return table


def shown_metrics(report: Report, most: int = 5) -> list[str]:
    """The deciding metric first, then the others that have a direction."""
    names = [n for n, m in report.metrics.items() if m.better is not None]
    names.sort(key=lambda name: name != report.ranked_by)
    return (names or list(report.metrics))[:most]


def number(score: Score | None, scale: float | None) -> str:
    """Value and interval; a dash where nothing was measured."""
    if score is None or score.value is None:
        return "-"
    digits = 3 if scale == 1 else 1
    text = f"{score.value:.{digits}f}"
    if score.low is not None and score.high is not None:
        text += f" ({score.low:.{digits}f}-{score.high:.{digits}f})"
    return text


def notes(report: Report, model_id: str) -> str:
    """What happened to a model's rows, in a few words."""
    model = report.models[model_id]
    counts = (
        (model.truncated, "cut"),
        (model.ran_to_limit, "at limit"),
        (model.looped, "looped"),
        (model.empty, "empty"),
    )
    return ", ".join(f"{count} {text}" for count, text in counts if count)
