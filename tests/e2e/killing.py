"""Runs `bakeoff run` in a process of its own and kills that process where a plan says so.

Used as a script: `python killing.py PLAN SPEC RUNS`. PLAN is JSON: {"at": "time", "seconds": s} is
carried out by the parent; {"at": "write", "call": n, "bytes": b} dies after b bytes of the n-th
journal write; {"at": "replace", "call": n} dies just before the n-th file is put in place.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_write(call: int, size: int) -> None:
    from bakeoff.store.files.journal import JournalWriter

    original = JournalWriter._write
    seen = 0

    def write(self: JournalWriter, data: bytes) -> None:
        nonlocal seen
        seen += 1
        if seen == call:
            original(self, data[: size % (len(data) + 1)])
            die()
        original(self, data)

    JournalWriter._write = write  # type: ignore[method-assign]


def die_before_replace(call: int) -> None:
    original = Path.replace
    seen = 0

    def replace(self: Path, target: Any) -> Path:
        nonlocal seen
        seen += 1
        if seen == call:
            die()
        return original(self, target)

    Path.replace = replace  # type: ignore[method-assign, assignment]


def main() -> None:
    plan, spec, runs = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
    if plan["at"] == "write":
        die_in_write(plan["call"], plan["bytes"])
    if plan["at"] == "replace":
        die_before_replace(plan["call"])
    from bakeoff.cli.main import run

    wait = str(plan.get("wait", 0))
    sys.argv = ["bakeoff", "run", spec, "--runs", runs, "--quiet", "--wait", wait]
    run()


if __name__ == "__main__":
    main()
