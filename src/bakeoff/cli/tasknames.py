"""Names that `--help` lists without loading what they stand for."""

from __future__ import annotations

TASK_NAMES = (
    "summarization",
    "translation",
    "text-generation",
    "question-answering",
    "text-classification",
    "multiple-choice",
    "custom",
)
"""Kinds of tasks, as `bakeoff.tasks` registers them."""

ROLE_NAMES = ("id", "source", "reference", "question", "context", "choices", "group")
"""Fields of `columns:`."""

TASK_HELP = f"What is asked of each row: {', '.join(TASK_NAMES)}."
ROLES_HELP = f"Roles: {', '.join(ROLE_NAMES)}."
