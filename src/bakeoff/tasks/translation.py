"""Translation: the same in another language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.core.errors import InvalidSpec, UnsupportedOption
from bakeoff.core.ports import ModelFacts, Roles
from bakeoff.core.registry import near_matches
from bakeoff.core.requests import Source
from bakeoff.core.rows import Notice
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks.fitting import is_baseline
from bakeoff.tasks.languages import Language, language
from bakeoff.tasks.prompting import TextTask
from bakeoff.tasks.summarization import REFERENCE_NAMES, SOURCE_NAMES

_SHOWN = 40
"""Languages that a refusal lists."""


class Translation(TextTask):
    """Roles `source` and `reference`; BLEU and chrF by default.

    `source_language` and `target_language` take English names, ISO 639 or NLLB codes. A model
    made for one pair needs neither; for the others both are needed.
    """

    kind = "translation"
    allowed = frozenset({"source_language", "target_language"})
    cue = "Translation:"
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
        if self.source is None and self.target is None:
            return
        if self.source is None or self.target is None:
            raise InvalidSpec("task translation needs both source_language and target_language")
        if self.source.full == self.target.full:
            raise InvalidSpec(
                f"task.source_language {self.source.said!r} and task.target_language "
                f"{self.target.said!r} are the same language ({self.source.name}): for rewriting "
                "within one language take task custom"
            )

    def hints(self) -> tuple[str, ...]:
        """`translation_en_to_de`, then the plain name."""
        if self.source is None or self.target is None:
            return ("translation",)
        return (f"translation_{self.source.tag}_to_{self.target.tag}", "translation")

    def check(self, facts: ModelFacts, prompt: PromptSpec | None = None) -> None:
        """A model that is told what to do has to be told the languages."""
        super().check(facts, prompt)
        told = self.template_for(prompt or PromptSpec()) is not None
        if is_baseline(facts) or self.target is not None:
            return
        if facts.capabilities.kind == "causal" and not told:
            raise _languages_needed(facts, "has to be told the languages")

    def notices(self, facts: ModelFacts, prompt: PromptSpec | None = None) -> tuple[Notice, ...]:
        """An encoder-decoder model that nothing tells the pair may answer in another language."""
        told = self.template_for(prompt or PromptSpec()) is not None or facts.prefix
        capabilities = facts.capabilities
        if is_baseline(facts) or capabilities.kind != "seq2seq" or capabilities.language_codes:
            return ()
        if told or self.source is None or self.target is None:
            return ()
        text = (
            f"{facts.ref.short_name} is not told to translate from {self.source.name} to "
            f"{self.target.name}: it has neither language tokens nor a prefix for this pair, and "
            "answers in the languages it was trained for"
        )
        return (Notice("languages-not-told", text),)

    def check_model(self, facts: ModelFacts) -> None:
        """A model with language tokens needs a pair that it knows."""
        super().check_model(facts)
        codes = facts.capabilities.language_codes
        if len(codes) > 1 and self.target is None:
            raise _languages_needed(facts, f"knows {len(codes)} languages")
        for side in (self.source, self.target):
            if codes and side is not None and side.code_among(codes) is None:
                near = near_matches(side.alpha3, codes)
                listed = ", ".join(near + [c for c in sorted(codes) if c not in near][:_SHOWN])
                raise UnsupportedOption(
                    f"{facts.ref.uri} has no token for {side.said!r} ({side.name}): it knows "
                    f"{listed}{', ...' if len(codes) > _SHOWN else ''}",
                    option="task.source_language"
                    if side is self.source
                    else "task.target_language",
                )

    def directive(self, facts: ModelFacts) -> str:
        """Names the languages, and asks for the translation alone."""
        pair = ""
        if self.source and self.target:
            pair = f" from {self.source.name} to {self.target.name}"
        return f"Translate the following text{pair}. Answer with the translation only."

    def variables(self) -> Mapping[str, Any]:
        """`source_language` and `target_language`, in English."""
        return {
            "source_language": self.source.name if self.source else "",
            "target_language": self.target.name if self.target else "",
        }

    def encoder_input(self, text: str, facts: ModelFacts) -> Source:
        """The text and, where the tokenizer has tokens for them, the languages."""
        codes = facts.capabilities.language_codes
        if not codes or self.source is None or self.target is None:
            return Source(text)
        return Source(text, self.source.code_among(codes), self.target.code_among(codes))


def _resolve(said: str | None, field: str) -> Language | None:
    return language(said, field) if said is not None else None


def _languages_needed(facts: ModelFacts, why: str) -> UnsupportedOption:
    return UnsupportedOption(
        f"{facts.ref.uri} {why}: set task.source_language and task.target_language",
        option="task.target_language",
    )
