"""Translation: the same in another language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Roles
from bakeoff.core.requests import Source
from bakeoff.core.rows import Notice
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks.fitting import is_baseline
from bakeoff.tasks.languages import Language, language
from bakeoff.tasks.prompting import TextTask
from bakeoff.tasks.summarization import REFERENCE_NAMES, SOURCE_NAMES
from bakeoff.tasks.telling import (
    SOURCE,
    TARGET,
    Pair,
    agrees,
    assumed,
    check_own_pair,
    check_prefix,
    check_told,
    codes_for,
    languages_needed,
)


class Translation(TextTask):
    """Roles `source` and `reference`; BLEU and chrF by default.

    `source_language` and `target_language` take English names, ISO 639, BCP 47 or NLLB codes. A
    model made for one pair needs neither; for the others both are needed.
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
        self.pair = Pair(
            _resolve(spec.source_language, SOURCE), _resolve(spec.target_language, TARGET)
        )
        source, target = self.pair
        if source is None and target is None:
            return
        if source is None or target is None:
            raise InvalidSpec("task translation needs both source_language and target_language")
        if source.full == target.full:
            raise InvalidSpec(
                f"{SOURCE} {source.said!r} and {TARGET} {target.said!r} are the same language "
                f"({source.name}): for rewriting within one language take task custom"
            )

    def hints(self) -> tuple[str, ...]:
        """`translation_en_to_de`, then the plain name; of an open pair the first that is there."""
        source, target = self.pair
        if source is None or target is None:
            return ("translation", "translation_*")
        return (f"translation_{source.tag}_to_{target.tag}", "translation")

    def check(self, facts: ModelFacts, prompt: PromptSpec | None = None) -> None:
        """A model that is told what to do has to be told the languages.

        A template says all by itself; only tokens for languages are still needed with it.
        """
        super().check(facts, prompt)
        if is_baseline(facts):
            return
        template = self.template_for(prompt or PromptSpec()) is not None
        check_told(facts, self.pair, template)
        if template:
            return
        if facts.capabilities.kind == "causal" and not self.pair.named:
            raise languages_needed(facts, "has to be told the languages")
        check_own_pair(facts, self.pair)
        check_prefix(facts, self.pair)

    def notices(self, facts: ModelFacts, prompt: PromptSpec | None = None) -> tuple[Notice, ...]:
        """Which pair was taken where the spec names none; a model that nothing tells the pair."""
        found = super().notices(facts, prompt)
        told = self.template_for(prompt or PromptSpec()) is not None
        if is_baseline(facts) or told or facts.capabilities.kind != "seq2seq":
            return found
        notice = self._untold(facts) if self.pair.named else self._open(facts)
        return (*found, notice) if notice else found

    def _untold(self, facts: ModelFacts) -> Notice | None:
        if facts.capabilities.language_codes or facts.prefix or agrees(facts, self.pair):
            return None
        text = (
            f"{facts.ref.short_name} is not told to translate {self.pair}: it has neither language "
            "tokens nor a prefix for this pair, and answers in the languages it was trained for; "
            "if it reads an instruction, write it into prompt.template"
        )
        return Notice("languages-not-told", text)

    def _open(self, facts: ModelFacts) -> Notice | None:
        name, pair = facts.ref.short_name, assumed(facts)
        if pair is not None:
            text = f"{SOURCE} and {TARGET} are not given: {name} translates {pair}"
            return Notice("translation-pair-assumed", text)
        if facts.prefix:
            return None
        text = (
            f"{name} is not told any languages: neither the spec nor its own files name some, and "
            "it answers in those it was trained for"
        )
        return Notice("languages-not-told", text)

    def directive(self, facts: ModelFacts) -> str:
        """Names the languages, and asks for the translation alone."""
        pair = f" {self.pair}" if self.pair.named else ""
        return f"Translate the following text{pair}. Answer with the translation only."

    def variables(self) -> Mapping[str, Any]:
        """`source_language` and `target_language`, in English."""
        source, target = self.pair
        return {
            "source_language": source.name if source else "",
            "target_language": target.name if target else "",
        }

    def encoder_input(self, text: str, facts: ModelFacts) -> Source:
        """The text and, where the tokenizer has tokens for them, the languages."""
        codes = codes_for(facts, self.pair)
        return Source(text, codes.source, codes.target)


def _resolve(said: str | None, field: str) -> Language | None:
    return language(said, field) if said is not None else None
