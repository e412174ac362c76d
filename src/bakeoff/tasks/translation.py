"""Translation: the same in another language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.ports import ModelFacts, Roles
from bakeoff.core.requests import Source
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks.languages import Language, language
from bakeoff.tasks.prompting import TextTask, required
from bakeoff.tasks.summarization import REFERENCE_NAMES, SOURCE_NAMES


class Translation(TextTask):
    """Roles `source` and `reference`; BLEU and chrF by default.

    `source_language` and `target_language` take English names, ISO 639 or NLLB codes. A model
    made for one pair needs neither; for the others both are needed.
    """

    kind = "translation"
    allowed = frozenset({"source_language", "target_language"})
    roles = Roles(
        required=("source",),
        optional=("id", "reference", "group"),
        guesses={
            "source": (*SOURCE_NAMES, "sentence"),
            "reference": ("translation", *REFERENCE_NAMES),
            "id": ("id",),
        },
    )
    default_metrics = ("bleu", "chrf")

    def __init__(self, spec: TaskSpec) -> None:
        super().__init__(spec)
        self.source = _resolve(spec.source_language, "task.source_language")
        self.target = _resolve(spec.target_language, "task.target_language")
        if (self.source is None) != (self.target is None):
            raise InvalidSpec("task translation needs both source_language and target_language")

    def hints(self) -> tuple[str, ...]:
        """`translation_en_to_de`, then the plain name."""
        if self.source is None or self.target is None:
            return ("translation",)
        return (f"translation_{self.source.tag}_to_{self.target.tag}", "translation")

    def check(self, facts: ModelFacts) -> None:
        """A model with language tokens needs a pair that it knows."""
        super().check(facts)
        codes = facts.capabilities.language_codes
        if facts.capabilities.kind == "causal" and self.target is None and not self.template:
            raise InvalidSpec(
                f"{facts.ref.uri} has to be told the languages: set task.source_language and "
                "task.target_language"
            )
        if len(codes) > 1 and self.target is None:
            raise InvalidSpec(
                f"{facts.ref.uri} knows {len(codes)} languages: set task.source_language and "
                "task.target_language"
            )
        for side in (self.source, self.target):
            if codes and side is not None and side.code_among(codes) is None:
                raise InvalidSpec(
                    f"{facts.ref.uri} has no token for {side.said!r}: it knows "
                    f"{', '.join(sorted(codes)[:40])}"
                )

    def instruction(self, row: TaskRow) -> str:
        """Names the languages, and asks for the translation alone."""
        text = required(row, "source")
        pair = ""
        if self.source and self.target:
            pair = f" from {self.source.name} to {self.target.name}"
        return f"Translate the following text{pair}. Answer with the translation only.\n\n{text}"

    def variables(self) -> Mapping[str, Any]:
        """`source_language` and `target_language`, in English."""
        return {
            "source_language": self.source.name if self.source else "",
            "target_language": self.target.name if self.target else "",
        }

    def encoder_input(self, text: str, facts: ModelFacts, prompt: PromptSpec) -> Source:
        """The text and, where the tokenizer has tokens for them, the languages."""
        plain = super().encoder_input(text, facts, prompt).text
        codes = facts.capabilities.language_codes
        if not codes or self.source is None or self.target is None:
            return Source(plain)
        return Source(plain, self.source.code_among(codes), self.target.code_among(codes))


def _resolve(said: str | None, field: str) -> Language | None:
    return language(said, field) if said else None
