"""Summarization: a shorter text that says the same."""

from __future__ import annotations

from bakeoff.core.ports import Roles
from bakeoff.core.rows import TaskRow
from bakeoff.tasks.prompting import TextTask, required

SOURCE_NAMES = ("source", "text", "input", "document", "article", "dialogue", "examples", "content")
REFERENCE_NAMES = (
    "reference",
    "references",
    "summary",
    "target",
    "ground_truth",
    "highlights",
    "answer",
    "label",
)


class Summarization(TextTask):
    """Roles `source` and `reference`; ROUGE and compression by default."""

    kind = "summarization"
    roles = Roles(
        required=("source",),
        optional=("id", "reference", "group"),
        guesses={"source": SOURCE_NAMES, "reference": REFERENCE_NAMES, "id": ("id",)},
    )
    default_metrics = ("rouge", "compression")

    def instruction(self, row: TaskRow) -> str:
        """A plain request for one or two sentences."""
        source = required(row, "source")
        return f"Summarize the following text in one or two sentences.\n\n{source}"
