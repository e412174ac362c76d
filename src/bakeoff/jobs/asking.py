"""What rows are asked with, for the words of a later run that asks them otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bakeoff.core.keys import what_changed
from bakeoff.core.specs import ModelEntry, RunSpec
from bakeoff.datasets.roles import RoleMap

_ROLES = ("source", "question", "context", "choices")
"""Roles whose cells become part of what is asked."""

CELLS = "their cells changed"
UNTOLD = "their cells or their prompt changed"


def asked_with(spec: RunSpec, entry: ModelEntry, roles: RoleMap) -> dict[str, Any]:
    """Task, prompt and columns of one model, less what is left to a default."""
    prompt = entry.prompt.model_dump(mode="json", exclude_defaults=True) if entry.prompt else {}
    unasked = {"reference_is"}
    task = spec.task.model_dump(mode="json", exclude_defaults=True, exclude=unasked)
    if spec.task.labels is not None:
        task["labels"] = ", ".join(spec.task.labels)
    return {
        "task": task,
        "prompt": prompt,
        "columns": {r: " + ".join(roles.columns[r]) for r in _ROLES if r in roles.columns},
    }


def asked_otherwise(now: dict[str, Any], before: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Why rows are asked otherwise than before, in words.

    `before` are the settings under which such rows were finished; where they are the same, the
    cells have changed, and where a journal does not hold them, both is possible.
    """
    known = [settings for settings in before if settings]
    found = [_differences(settings, now) for settings in known]
    reasons = min((lines for lines in found if lines), key=len, default=())
    if any(not lines for lines in found):
        reasons = (*reasons, CELLS)
    return reasons or (UNTOLD,)


def _differences(old: dict[str, Any], new: dict[str, Any]) -> tuple[str, ...]:
    return tuple(map(_told, what_changed(old, new)))


def _told(line: str) -> str:
    """Long texts that begin alike look the same once they are short."""
    name, _, values = line.partition(" ")
    parts = values.split(" -> ")
    half = len(parts) // 2
    return f"{name} changed" if parts[:half] == parts[half:] else line
