"""`bakeoff engines`."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="What runs models: list, add, remove.", no_args_is_help=True)
Engine = Annotated[str, typer.Argument(help="An engine with tools of its own: openvino.")]


@app.command("list")
def show(json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False) -> None:
    """List the engines, whether they can be used here, and what to type where they cannot."""
    import json as text
    from dataclasses import asdict

    from bakeoff.engines.available import available

    found = available()
    if json:
        typer.echo(text.dumps([asdict(one) for one in found], indent=1))
        return
    for one in found:
        state = "ready" if one.usable else "not installed" if not one.version else "not complete"
        said = "  ".join(part for part in (one.version, one.note) if part)
        typer.echo(f"{one.name:13} {state:14} {said}")


@app.command("add")
def add(engine: Engine) -> None:
    """Build the private environment that an engine's tools need; once, with a network."""
    from bakeoff.engines.available import tools_of

    typer.echo(tools_of(engine).add(lambda text: typer.echo(text, err=True)))


@app.command("remove")
def remove(engine: Engine) -> None:
    """Delete what `add` built; models that are converted already stay usable."""
    from bakeoff.engines.available import tools_of

    gone = tools_of(engine).remove()
    typer.echo(f"the tools of {engine} are {'deleted' if gone else 'not there'}")
