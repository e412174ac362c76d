"""Summarization: a shorter text that says the same."""

from __future__ import annotations

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Roles
from bakeoff.tasks.prompting import TextTask

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
    cue = "Summary:"
    roles = Roles(
        required=("source",),
        optional=("id", "reference", "group"),
        guesses={"source": SOURCE_NAMES, "reference": REFERENCE_NAMES, "id": ("id",)},
    )
    default_metrics = ("rouge", "compression")

    def directive(self, facts: ModelFacts) -> str:
        """A plain request for one or two sentences."""
        return "Summarize the following text in one or two sentences. Answer with the summary only."
