"""Text generation: the source is the prompt."""

from __future__ import annotations

from bakeoff.core.ports import Roles
from bakeoff.tasks.prompting import TextTask
from bakeoff.tasks.summarization import REFERENCE_NAMES

PROMPT_NAMES = ("prompt", "instruction", "source", "input", "text", "question", "examples")


class TextGeneration(TextTask):
    """Roles `source` and `reference`; exact match and length by default.

    The model reads the source as it stands, without any instruction.
    """

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
