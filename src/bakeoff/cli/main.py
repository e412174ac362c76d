"""The `bakeoff` command: the menu, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from typing import Annotated

import typer

from bakeoff._version import __version__
from bakeoff.cli import cache, compare, data, evaluate, infer, init, report, schema
from bakeoff.cli import run as run_command
from bakeoff.core.codes import ExitCode
from bakeoff.core.errors import BakeoffError

app = typer.Typer(
    name="bakeoff",
    help="Find out which language model is best on your own data.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"bakeoff {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find out which language model is best on your own data."""


app.command("run")(run_command.run)
app.command("init")(init.init)
app.command("infer")(infer.infer)
app.command("evaluate")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("data")(data.data)
app.command("schema")(schema.schema)
app.add_typer(cache.app, name="cache")


def run() -> None:
    """Entry point: no traceback ever reaches the user."""
    try:
        app()
    except BakeoffError as problem:
        _say(f"error: {problem.message}")
        sys.exit(int(problem.info.exit))
    except KeyboardInterrupt:
        _say("interrupted: the same command resumes")
        sys.exit(int(ExitCode.INTERRUPTED))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(int(ExitCode.OK))
    except Exception as problem:  # the last line of defence: kept in a file, not shown
        path = _keep_traceback()
        _say(f"error: a fault in bakeoff: {type(problem).__name__}: {problem}; details in {path}")
        sys.exit(int(ExitCode.INTERNAL))


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def _keep_traceback() -> str:
    handle, path = tempfile.mkstemp(prefix="bakeoff-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(traceback.format_exc())
    return path
