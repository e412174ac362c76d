"""`bakeoff cache`."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Converted models that bakeoff keeps: list, prune.", no_args_is_help=True)


@app.command("list")
def show(json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """List what is kept, with sizes and the place."""
    import json as text
    import time

    from bakeoff.engines.cache import bakeoff_home, entries

    found = entries()
    if json:
        values = [
            {
                "kind": e.kind,
                "key": e.key,
                "path": str(e.path),
                "bytes": e.bytes,
                "in_use": e.in_use,
            }
            for e in found
        ]
        typer.echo(text.dumps({"home": str(bakeoff_home()), "entries": values}, indent=1))
        return
    typer.echo(str(bakeoff_home()))
    for entry in found:
        used = time.strftime("%Y-%m-%d", time.localtime(entry.used))
        state = "in use" if entry.in_use else used
        typer.echo(f"{entry.bytes / 1e6:10.1f} MB  {state:10}  {entry.kind}  {entry.source}")
    typer.echo(f"{sum(e.bytes for e in found) / 1e6:10.1f} MB in {len(found)} entries")


@app.command("prune")
def prune(
    days: Annotated[
        float | None, typer.Option("--days", min=0, help="Only what was not used for so long.")
    ] = None,
    max_size: Annotated[
        str | None, typer.Option("--max-size", help="Keep at most this much, for example 5GB.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything that is not in use.")
    ] = False,
) -> None:
    """Delete converted models; what a running process uses stays."""
    from bakeoff.cli.sizes import parse_size
    from bakeoff.core.errors import InvalidRequest
    from bakeoff.engines.cache import prune as delete

    if days is None and max_size is None and not everything:
        raise InvalidRequest("say what to delete: --days N, --max-size SIZE or --all")
    limit = 0 if everything else None if max_size is None else parse_size(max_size)
    gone = delete(older_than=None if days is None else days * 86400, max_bytes=limit)
    typer.echo(f"{len(gone)} entries deleted, {sum(e.bytes for e in gone) / 1e6:.1f} MB freed")
