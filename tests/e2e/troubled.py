"""Runs the command in a process of its own, with trouble where a plan says so.

Used as a script: `python troubled.py PLAN ARGUMENT...`. PLAN is JSON: {"stop": NAME} says "ready"
on standard error and blocks, as a long computation does, when `NAME` (module:function) is called;
{"exit": code, "row": n} ends the process inside the engine at the n-th row.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any


def block_in(name: str) -> None:
    module, _, function = name.partition(":")
    owner = importlib.import_module(module)

    def blocked(*_: Any, **__: Any) -> None:
        sys.stderr.write("ready\n")
        sys.stderr.flush()
        end = time.monotonic() + 60
        while time.monotonic() < end:  # holds the event loop, as planning and scoring do
            time.sleep(0.01)

    setattr(owner, function, blocked)


def exit_at(row: int, code: int) -> None:
    from bakeoff.engines.fake import FakeEngine

    original = FakeEngine._one
    seen = 0

    def one(self: FakeEngine, *arguments: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == row:
            os._exit(code)
        return original(self, *arguments)

    FakeEngine._one = one  # type: ignore[method-assign]


def main() -> None:
    plan = json.loads(sys.argv[1])
    if "stop" in plan:
        block_in(plan["stop"])
    if "exit" in plan:
        exit_at(plan["row"], plan["exit"])
    from bakeoff.cli.main import run

    sys.argv = ["bakeoff", *sys.argv[2:]]
    run()


if __name__ == "__main__":
    main()
