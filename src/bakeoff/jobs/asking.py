"""What rows are asked with, for the words of a later run that asks them otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from bakeoff.core.errors import CallerError
from bakeoff.core.keys import what_changed
from bakeoff.core.specs import ModelEntry, PromptSpec, RunSpec, TaskSpec
from bakeoff.datasets.roles import RoleMap
from bakeoff.jobs.contender import Contender
from bakeoff.tasks import build_task

Settings = dict[str, Any]
"""Task, prompt and columns of one model, as headers of segments keep them."""

_ROLES = ("source", "question", "context", "choices")
"""Roles whose cells become part of what is asked."""

CELLS = "their cells changed"
UNTOLD = "their cells or their prompt changed"


@dataclass(frozen=True, slots=True)
class AskedWith:
    """What rows are asked with now.

    Attributes:
        values: as headers keep them; labels and columns are joined, for messages.
        task: the same in full.
    """

    values: Settings
    task: TaskSpec


def asked_with(spec: RunSpec, entry: ModelEntry, roles: RoleMap) -> AskedWith:
    """Task, prompt and columns of one model, less what is left to a default."""
    prompt = entry.prompt.model_dump(mode="json", exclude_defaults=True) if entry.prompt else {}
    unasked = {"reference_is"}
    task = spec.task.model_dump(mode="json", exclude_defaults=True, exclude=unasked)
    if spec.task.labels is not None:
        task["labels"] = ", ".join(spec.task.labels)
    values = {
        "task": task,
        "prompt": prompt,
        "columns": {r: " + ".join(roles.columns[r]) for r in _ROLES if r in roles.columns},
    }
    return AskedWith(values, spec.task)


def asked_earlier(contender: Contender, now: AskedWith, before: Settings) -> Contender | None:
    """The contender as it asked its rows under the settings `before`.

    None where these do not tell it in full: another task (which may have read other parts of the
    checkpoint), other labels or columns (which are kept joined), or settings that were not kept.
    """
    task = dict(before.get("task", {}))
    labels = now.values["task"].get("labels")
    if before.get("columns") != now.values["columns"] or task.get("labels") != labels:
        return None
    if contender.facts.reads_column is not None:  # all rows together tell how it is read
        return None
    if "labels" in task:
        task["labels"] = now.task.labels
    try:
        made = build_task(TaskSpec.model_validate(task))
        prompt = PromptSpec.model_validate(before.get("prompt", {}))
    except (ValidationError, CallerError):  # another version wrote them
        return None
    if made.hints() != contender.task.hints():
        return None
    entry = contender.entry.model_copy(update={"prompt": prompt})
    return replace(contender, task=made, entry=entry)


def asked_otherwise(
    now: Settings, before: Sequence[Settings], cells: bool = False
) -> tuple[str, ...]:
    """Why rows are asked otherwise than before, in words.

    `before` are the settings under which such rows were finished; where they are the same, or
    where `cells` says so, the cells have changed; where a journal does not hold them, both is
    possible.
    """
    known = [settings for settings in before if settings]
    found = [_differences(settings, now) for settings in known]
    reasons = min((lines for lines in found if lines), key=len, default=())
    if cells or any(not lines for lines in found):
        reasons = (*reasons, CELLS)
    return reasons or (UNTOLD,)


def _differences(old: Settings, new: Settings) -> tuple[str, ...]:
    return tuple(map(_told, what_changed(old, new)))


def _told(line: str) -> str:
    """Long texts that begin alike look the same once they are short."""
    name, _, values = line.partition(" ")
    parts = values.split(" -> ")
    half = len(parts) // 2
    return f"{name} changed" if parts[:half] == parts[half:] else line
