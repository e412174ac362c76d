"""How tests call the command line: in this process, in one of its own, or on a terminal."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from bakeoff.cli.main import run

BAKEOFF = (sys.executable, "-m", "bakeoff")


class Said(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    def events(self) -> list[dict[str, Any]]:
        """The lines of `--json`; fails where one is no strict JSON."""
        return [json.loads(line, parse_constant=_refuse) for line in self.out.splitlines()]

    def mistake(self, code: int = 2) -> str:
        """The one line that a mistake is answered with."""
        assert self.code == code, self
        lines = self.err.splitlines()
        assert lines, self
        assert lines[-1].startswith("error: "), self
        assert "Traceback" not in self.err, self
        assert "fault in bakeoff" not in self.err, self
        return lines[-1].removeprefix("error: ")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def bakeoff(*arguments: str | Path, stdin: bytes = b"") -> Said:
    """The command in this process, through the entry point that the installed script calls."""
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    code = 0
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with (
        mock.patch.object(sys, "argv", ["bakeoff", *map(str, arguments)]),
        mock.patch.multiple(sys, stdin=given, stdout=out, stderr=err),
    ):
        try:
            run()
        except SystemExit as problem:
            code = problem.code if isinstance(problem.code, int) else bool(problem.code)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return Said(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def process(
    *arguments: str | Path, cwd: Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> Said:
    """The command in a process of its own."""
    done = subprocess.run(
        [*BAKEOFF, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env={**os.environ, **(env or {})},
        timeout=120,
        check=False,
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def start(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """The command in a process of its own, while it runs."""
    return subprocess.Popen(
        [*BAKEOFF, *map(str, arguments)],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
