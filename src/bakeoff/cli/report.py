"""`bakeoff report RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="Run folder, for example runs/dialogues.")],
    json: Annotated[bool, typer.Option("--json", help="Print report.json.")] = False,
) -> None:
    """Print a run's leaderboard again and make its page anew."""
    import sys

    from bakeoff.cli.finding import run_at
    from bakeoff.cli.leaderboard import print_report
    from bakeoff.jobs.reporting import write_report_page

    folder = run_at(run)
    found = folder.read_report()
    if folder.unfinished():
        sys.stderr.write(
            "note: a later run began here and has not come to its report; this one is older\n"
        )
    if json:
        sys.stdout.buffer.write(folder.report_file.read_bytes())
    else:
        print_report(found, folder.path)
    write_report_page(found, folder)
