"""`Process`: the process that owns a model, seen from here. On one thread only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bakeoff.core.errors import EngineLost
from bakeoff.engines.environments import SECRET, last_lines

CHILD = Path(__file__).with_name("child.py")
_TAIL = 4_000
_PATIENCE = 5.0
"""Seconds that it has to end by itself."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the process may use.

    Attributes:
        threads: for computing.
        rows: most requests in one step.
        batch: most tokens of prompts and texts in one step.
    """

    threads: int
    rows: int
    batch: int


class Process:
    """A model that is loaded.

    Attributes:
        version: of the library.
    """

    def __init__(self, model: Path, limits: Limits) -> None:
        """Start it and wait until the model is loaded.

        Raises:
            EngineLost: it ended instead; the message has what it said.
        """
        self._said = tempfile.TemporaryFile()  # closed by `close`
        self._child = subprocess.Popen(
            [sys.executable, "-P", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={name: value for name, value in os.environ.items() if name not in SECRET},
            start_new_session=True,  # Ctrl-C is for the process that owns it
        )
        try:
            self.send({"model": str(model), **asdict(limits)})
            self.version = str(self.receive()["ready"])
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._child.poll() is None

    def send(self, message: Mapping[str, Any]) -> None:
        """Give it a message.

        Raises:
            EngineLost: it has ended.
        """
        stream = self._child.stdin
        try:
            if stream is not None:
                stream.write(json.dumps(message).encode() + b"\n")
                stream.flush()
        except OSError as error:
            raise self._loss() from error

    def receive(self) -> dict[str, Any]:
        """Its next message; blocks until it comes.

        Raises:
            EngineLost: it has ended.
        """
        line = self._child.stdout.readline() if self._child.stdout is not None else b""
        if not line.endswith(b"\n"):
            raise self._loss()
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        """End it; may be called twice."""
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                with suppress(OSError):  # what it never read is flushed here
                    stream.close()
        try:
            self._child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._said.close()

    def _loss(self) -> EngineLost:
        code = self._child.wait()
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _TAIL))
        said = self._said.read().decode("utf-8", "replace")
        last = last_lines(said).rpartition(" | ")[2]
        return EngineLost(f"the process of the openvino engine ended with status {code}: {last}")
