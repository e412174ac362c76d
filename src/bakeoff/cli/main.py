"""The `bakeoff` command: the menu, and the one place where errors become exit codes."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import tempfile
import traceback
from typing import Annotated, Any, NoReturn

import typer

from bakeoff._version import __version__
from bakeoff.cli import cache, compare, data, doctor, engines, evaluate, infer, init, report, schema
from bakeoff.cli import run as run_command
from bakeoff.cli import serve as serve_command
from bakeoff.cli.leaving import last_word
from bakeoff.cli.plain import one_line
from bakeoff.core.codes import ExitCode
from bakeoff.core.errors import BakeoffError, Interrupted

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
app.command("doctor", short_help="Say what a model is and what is wrong with it.")(doctor.doctor)
app.command("serve", short_help="Serve models over HTTP.")(serve_command.serve)
app.command("schema")(schema.schema)
app.add_typer(cache.app, name="cache")
app.add_typer(engines.app, name="engines")


def run() -> NoReturn:
    """Entry point: one line for a mistake, an exit code for everything, never a traceback."""
    signal.signal(signal.SIGTERM, _as_ctrl_c)
    _set_up_streams()
    sys.exit(_carry_out())


def _carry_out() -> int:
    try:
        code = app(prog_name="bakeoff", standalone_mode=False)
    except Interrupted as problem:
        last_word(problem.message)
        return int(problem.info.exit)
    except BakeoffError as problem:
        _say(f"error: {problem.message}")
        return int(problem.info.exit)
    except typer.Abort:  # Ctrl-C or Ctrl-D in answer to a question
        last_word("interrupted: nothing was written")
        return int(ExitCode.INTERRUPTED)
    except _UsageError as problem:
        return _refuse(problem)
    except OSError as problem:
        _say(f"error: {_said(problem)}")
        return int(ExitCode.RUN_FAILED)
    except MemoryError:
        _say("error: out of memory; finished rows are kept, the same command resumes")
        return int(ExitCode.RUN_FAILED)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except Exception as problem:  # the last line of defence: kept in a file, not shown
        kept = _keep_traceback()
        _say(f"error: a fault in bakeoff: {type(problem).__name__}: {problem}; details {kept}")
        return int(ExitCode.INTERNAL)
    if code == ExitCode.INTERRUPTED:  # typer turns a KeyboardInterrupt into this code
        last_word("interrupted")
    return int(code or 0)


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The base of all wrong flags; typer has it under no public name."""


def _as_ctrl_c(number: int, frame: object) -> NoReturn:
    """SIGTERM ends a command as Ctrl-C does, so that temporary files are removed."""
    raise KeyboardInterrupt


def _set_up_streams() -> None:
    """What a terminal's encoding cannot show becomes an escape rather than an error.

    A stream that was closed (`>&-`) takes what is written to it and forgets it.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _refuse(problem: Any) -> int:
    """A wrong flag: one line; no command at all: the menu."""
    if type(problem).__name__ == "NoArgsIsHelpError":
        problem.show()
        return int(ExitCode.USAGE)
    text = problem.format_message().rstrip(".")
    command = problem.ctx.command_path if problem.ctx else "bakeoff"
    _say(f"error: {text[:1].lower()}{text[1:]}; see {command} --help")
    return int(ExitCode.USAGE)


def _said(problem: OSError) -> str:
    place = problem.filename2 or problem.filename
    text = problem.strerror or str(problem)
    said = f"{os.fspath(place)!r}: {text}" if isinstance(place, (str, os.PathLike)) else text
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        said += "; make room and give the same command again: finished rows are kept"
    return said


def _say(text: str) -> None:
    sys.stderr.write(one_line(text) + "\n")


def _keep_traceback() -> str:
    try:
        handle, path = tempfile.mkstemp(prefix="bakeoff-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(traceback.format_exc())
    except OSError as problem:
        return f"could not be kept: {problem.strerror}"
    return f"in {path}"
