"""`bakeoff infer DATA --model REF`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli.tasknames import ROLES_HELP, TASK_HELP

DataArgument = Annotated[str, typer.Argument(help="Data file, folder, hf://datasets/..., or -.")]
ModelOption = Annotated[str, typer.Option("--model", "-m", help="Model reference.")]
TaskOption = Annotated[str, typer.Option("--task", "-t", help=TASK_HELP)]
OutOption = Annotated[
    Path | None, typer.Option("--out", "-o", help="File to write: .csv, .jsonl or .parquet.")
]
FieldOption = Annotated[str, typer.Option("--output-field", help="Column for the predictions.")]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace the column or the file if it is there.")
]
TemplateOption = Annotated[str | None, typer.Option("--template", help="Prompt template (Jinja).")]
SystemOption = Annotated[str | None, typer.Option("--system", help="System prompt.")]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", help=f"ROLE=COLUMN, for example source=text. {ROLES_HELP}"),
]
OptionOption = Annotated[
    list[str] | None,
    typer.Option("--option", help="Field of the model entry: NAME=VALUE, for example seed=1."),
]
MaxNewTokensOption = Annotated[
    int | None, typer.Option("--max-new-tokens", min=1, help="Longest answer, in tokens.")
]
TemperatureOption = Annotated[
    float | None, typer.Option("--temperature", min=0.0, help="0 is greedy; more is more varied.")
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first rows.")]
RunsOption = Annotated[Path | None, typer.Option("--runs", help="Folder of the run folders.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Make all rows anew.")]


def infer(
    data: DataArgument,
    model: ModelOption,
    task: TaskOption = "text-generation",
    out: OutOption = None,
    output_field: FieldOption = "predictions",
    overwrite: OverwriteOption = False,
    template: TemplateOption = None,
    system: SystemOption = None,
    column: ColumnsOption = None,
    option: OptionOption = None,
    max_new_tokens: MaxNewTokensOption = None,
    temperature: TemperatureOption = None,
    limit: LimitOption = None,
    runs: RunsOption = None,
    fresh: FreshOption = False,
) -> None:
    """Run one model over a data file and write what it said.

    The rows are written as they are, with a column of predictions. Rows that fail keep an empty
    prediction and say why in a second column, NAME_error. The same command resumes.
    """
    from bakeoff.cli.building import Asked, infer_spec, run_quietly
    from bakeoff.cli.flagwords import as_flags
    from bakeoff.cli.predictions import Output, write_rows
    from bakeoff.cli.runnames import run_name

    asked = Asked(
        name=run_name("infer", data, model, runs),
        data=data,
        model=model,
        task=task,
        template=template,
        system=system,
        columns=tuple(column or ()),
        options=tuple(option or ()),
        generation={"max_new_tokens": max_new_tokens, "temperature": temperature},
        limit=limit,
    )
    output = Output.choose(data, out, output_field, overwrite)
    spec = infer_spec(asked)
    finished = run_quietly(spec, runs, fresh, as_flags, before=output.check)
    write_rows(finished, output)
