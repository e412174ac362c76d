"""The self-check of `bakeoff serve`: the doctor's look at the files, apart from the server.

It runs in a process of its own, behind all others: it needs libraries and time that the server
would miss.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Mapping
from typing import Any

from bakeoff.core.modelref import LoadOptions, ModelRef
from bakeoff.serving.checkup import Found

_PATIENCE = 300.0
"""Seconds after which it is given up."""
_LAST = 2000
"""Characters of its messages that are told."""


async def examined(ref: ModelRef) -> list[Found]:
    """What `bakeoff doctor --static` says of a model."""
    command = [*_behind_others(), sys.executable, "-m", "bakeoff", "doctor", *_said(ref)]
    process = await asyncio.create_subprocess_exec(
        *command, "--static", "--json",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_PATIENCE):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        diagnosis = json.loads(out)
    except ValueError:
        text = " ".join(err.decode(errors="replace").split())[-_LAST:]
        return [Found("check-failed", "warning", f"the doctor could not look at it: {text}")]
    return [_found(one) for one in diagnosis["findings"]]


def _found(said: Mapping[str, Any]) -> Found:
    text = ": ".join(part for part in (said["what"], said["value"], said["advice"]) if part)
    return Found(said["code"], said["level"], text)


def _said(ref: ModelRef) -> list[str]:
    """The reference on a command line."""
    values = ref.model_dump(include=set(LoadOptions.model_fields), exclude_defaults=True)
    options = [f"{name}={json.dumps(value)}" for name, value in values.items()]
    return [ref.uri, *(part for option in options for part in ("--option", option))]


def _behind_others() -> list[str]:
    nice = shutil.which("nice")
    return [] if nice is None else [nice, "-n", "15"]
