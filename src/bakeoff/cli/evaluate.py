"""`bakeoff evaluate DATA --predictions COLUMN`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataArgument = Annotated[str, typer.Argument(help="Data file that holds predictions, or -.")]
PredictionsOption = Annotated[
    list[str], typer.Option("--predictions", "-p", help="Column of predictions; may be repeated.")
]
ReferenceOption = Annotated[
    list[str] | None, typer.Option("--reference", "-r", help="Column of right answers.")
]
SourceOption = Annotated[str | None, typer.Option("--source", help="Column of the source text.")]
MetricsOption = Annotated[
    str, typer.Option("--metrics", help="Names with commas between, for example rouge,chrf.")
]
NameOption = Annotated[str | None, typer.Option("--name", help="Name of the run.")]
RunsOption = Annotated[Path | None, typer.Option("--runs", help="Folder of the run folders.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]


def evaluate(
    data: DataArgument,
    predictions: PredictionsOption,
    reference: ReferenceOption = None,
    source: SourceOption = None,
    metrics: MetricsOption = "rouge,bleu,exact_match",
    name: NameOption = None,
    runs: RunsOption = None,
    json: JsonOption = False,
) -> None:
    """Score predictions that a file already has.

    Several columns of predictions are compared as several models are.
    """
    from bakeoff.cli.building import evaluate_spec, run_quietly
    from bakeoff.cli.flagwords import as_evaluate_flags
    from bakeoff.cli.leaderboard import print_report
    from bakeoff.cli.runnames import run_name

    spec = evaluate_spec(
        data,
        predictions,
        {"reference": reference or None, "source": source},
        [part.strip() for part in metrics.split(",") if part.strip()],
        name or run_name("evaluate", data, "", runs),
    )
    finished = run_quietly(spec, runs, fresh=False, wording=as_evaluate_flags)
    if json:
        typer.echo(finished.report.model_dump_json(indent=1))
    else:
        print_report(finished.report, finished.folder, finished.said, as_evaluate_flags)
    finished.leave()
