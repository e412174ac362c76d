"""`bakeoff compare RUN...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, for example runs/a runs/b.")],
    metric: Annotated[str | None, typer.Option("--metric", help="Order by this metric.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """One table over several runs, on the rows that all of them have.

    Rows are the same when their id and inputs are; scores are averaged over the shared rows
    alone, so that the figures are comparable. Corpus metrics are not averaged and are left out.
    """
    from bakeoff.cli.compareshow import print_comparison
    from bakeoff.cli.finding import run_at
    from bakeoff.jobs.comparing import compare_runs

    folders = [run_at(path) for path in runs]
    print_comparison(compare_runs(folders, metric), json)
