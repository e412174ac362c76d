"""Text generation: the source is the prompt."""

from __future__ import annotations

from bakeoff.core.ports import Roles
from bakeoff.core.rows import TaskRow
from bakeoff.tasks.prompting import TextTask, required
from bakeoff.tasks.summarization import REFERENCE_NAMES

PROMPT_NAMES = ("prompt", "instruction", "source", "input", "text", "question", "examples")


class TextGeneration(TextTask):
    """Roles `source` and `reference`; exact match and length by default."""

    kind = "text-generation"
    roles = Roles(
        required=("source",),
        optional=("id", "reference", "group"),
        guesses={
            "source": PROMPT_NAMES,
            "reference": ("completion", "response", "output", *REFERENCE_NAMES),
            "id": ("id",),
        },
    )
    default_metrics = ("exact_match", "length")

    def instruction(self, row: TaskRow) -> str:
        """The source as it stands."""
        return required(row, "source")
