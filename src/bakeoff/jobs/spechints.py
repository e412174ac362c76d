"""What to write instead, where a mistake in a template shows what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.specs import RunSpec

_SPLIT = re.compile(r"\{\{-?\s*(\w+(?:[ \t]+\w+)+)\s*(?:\||-?\}\})")
"""`{{ customer mail }}`."""
_NEAR = re.compile(r"which is no column: did you mean '([^']+)'")


@contextmanager
def hinted(spec: RunSpec) -> Iterator[None]:
    """Add how a column is written whose name is no single word."""
    try:
        yield
    except InvalidSpec as problem:
        name = _meant(problem.message, spec)
        if name is not None:
            problem.message += f'; a column whose name is no single word is row["{name}"]'
            problem.args = (problem.message,)
        raise


def _meant(message: str, spec: RunSpec) -> str | None:
    near = _NEAR.search(message)
    if near is not None:
        return None if near[1].isidentifier() else near[1]
    if "end of print statement" not in message:
        return None
    prompts = (entry.prompt.template for entry in spec.models if entry.prompt is not None)
    found = (_SPLIT.search(text) for text in (spec.task.template, *prompts) if text)
    return next((match[1] for match in found if match is not None), None)
