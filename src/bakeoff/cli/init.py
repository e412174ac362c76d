"""`bakeoff init DATA`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bakeoff.cli.tasknames import ROLES_HELP, TASK_HELP


def init(
    data: Annotated[str, typer.Argument(help="Data file, folder or hf://datasets/...")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Spec to write.")] = Path("bakeoff.yaml"),
    task: Annotated[str | None, typer.Option("--task", "-t", help=TASK_HELP)] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="Model reference; may be repeated.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", "-c", help=f"ROLE=COLUMN, for example source=text. {ROLES_HELP}"),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the run.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing; take guesses for what is not said.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a commented spec for a data file, by asking or by flags."""
    import sys

    from bakeoff.cli.building import pairs
    from bakeoff.cli.drafting import Wishes, draft
    from bakeoff.cli.placing import check_place
    from bakeoff.store.files.atomic import write_text

    check_place(out, force, "--force")
    wishes = Wishes(
        data=data,
        beside=out.resolve().parent,
        task=task,
        models=tuple(model or ()),
        columns=pairs(column or (), "--column"),
        name=name,
        ask=not yes and bool(sys.stdin) and sys.stdin.isatty(),
    )
    made = draft(wishes)
    write_text(out, made.text)
    for said in made.left_out:
        typer.echo(f"note: {said}", err=True)
    typer.echo(f"wrote {out}; next: bakeoff run {out}")
