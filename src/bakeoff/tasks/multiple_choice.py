"""Multiple choice: which of several answers is right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bakeoff.core.errors import BadRow
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Completion, Likelihood, Prediction
from bakeoff.core.ports import Answer, Ask, Roles
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec
from bakeoff.tasks.choosing import RULE, check_method, match_option, most_likely, whole_option
from bakeoff.tasks.fitting import is_baseline, refuse_encoder
from bakeoff.tasks.naming import NamingTask
from bakeoff.tasks.prompting import continuations, required
from bakeoff.tasks.readings import LETTERS

_ALONE = re.compile(r"^\W*([A-Za-z])\W*$")
_FIRST = re.compile(r"^[^\w]*([A-Z])[.):,]")
_SAID = re.compile(r"(?i:\b(?:answer|choice|option)\b(?:\s+is)?)\W*([A-Z])\b(?!['’])")


class MultipleChoice(NamingTask):
    """Roles `question`, `choices` and `reference`; accuracy by default.

    The reference is the right choice's text, its letter (A, B, ...) or its number, from 0 or from
    1: in all rows alike, which `reference_is` says or the rows decide. Models that have
    likelihoods are scored by that of each choice; the others, or all with `method: generate`, see
    the choices with letters and answer with one.
    """

    kind = "multiple-choice"
    allowed = frozenset({"method", "reference_is"})
    ways = ("text", "index-from-0", "index-from-1", "letter")
    stray = (
        "names no choice of its row and counts as none",
        "name no choice of their row and count as none",
    )
    cue = "Answer:"
    roles = Roles(
        required=("question", "choices"),
        optional=("id", "reference", "context", "group"),
        guesses={
            "question": ("question", "goal", "query", "source", "prompt", "ctx"),
            "choices": ("choices", "options", "endings"),
            "reference": ("answer", "label", "reference", "target", "gold"),
            "id": ("id",),
        },
    )
    default_metrics = ("accuracy",)

    def check_model(self, facts: ModelFacts) -> None:
        """Encoders are refused."""
        refuse_encoder(self.kind, facts)
        check_method(self.spec.method, facts)

    def needs_likelihood(self, facts: ModelFacts) -> bool:
        """Unless letters are generated."""
        return self.spec.method != "generate" and facts.capabilities.likelihood

    def ask(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec | None) -> Ask:
        """The likelihood of each choice, or a question with letters."""
        choices = _choices(row)
        context = self.prompt(row, facts, prompt or PromptSpec())
        if not self.needs_likelihood(facts):
            return (context,)
        return continuations(context, choices)

    def directive(self, facts: ModelFacts) -> str:
        """Nothing where likelihoods are compared, as in lm-evaluation-harness."""
        if self.needs_likelihood(facts):
            return ""
        return "Answer the question with the letter of the right choice only."

    def body(self, row: TaskRow, facts: ModelFacts) -> str:
        """Question and, for models that generate, the lettered choices."""
        text = f"{row.context}\n\n" if row.context else ""
        text += f"Question: {required(row, 'question')}"
        if self.needs_likelihood(facts):
            return text
        lettered = zip(LETTERS, _choices(row), strict=False)
        return "\n".join([text, *(f"{letter}. {choice}" for letter, choice in lettered)])

    def payload(self, row: TaskRow, facts: ModelFacts) -> str:
        """For a baseline: its column, as a choice's text where it names one; else the question."""
        if facts.reads_column is not None:
            return super().payload(row, facts)
        return required(row, "question") if is_baseline(facts) else self.body(row, facts)

    def encoder_text(self, row: TaskRow, facts: ModelFacts) -> str:
        """The task has to be said, unless the checkpoint was trained for it."""
        told = "" if facts.prefix else self.directive(facts)
        return f"{told}\n\n{self.body(row, facts)}" if told else super().encoder_text(row, facts)

    def answer_settings(self, row: TaskRow) -> Any:
        """The choices in order: a letter, or a likelihood, stands for one by its place."""
        return {"kind": self.kind, "choices": list(row.choices), "rule": RULE}

    def answer(
        self, row: TaskRow, outcomes: Sequence[Completion | Likelihood | Prediction]
    ) -> Answer:
        """The chosen text: a choice that the text is, else one whose letter or text it gives."""
        choices = _choices(row)
        if isinstance(outcomes[0], Likelihood):
            return most_likely(choices, [o for o in outcomes if isinstance(o, Likelihood)])
        answer = super().answer(row, outcomes)
        chosen = (
            whole_option(answer.text, choices)
            or _lettered(answer.text, choices)
            or match_option(answer.text, choices)
        )
        extra = {**answer.extra, "said": answer.text, "matched": chosen is not None}
        return Answer(chosen if chosen is not None else answer.text.strip(), extra)

    def options(self, row: TaskRow) -> tuple[str, ...]:
        """The row's choices."""
        return row.choices


def _choices(row: TaskRow) -> tuple[str, ...]:
    if len(row.choices) < 2:
        raise BadRow(f"the row has {len(row.choices)} choices: it needs at least two")
    if len(row.choices) > len(LETTERS):
        raise BadRow(f"the row has {len(row.choices)} choices: at most {len(LETTERS)} are lettered")
    if any(not choice.strip() for choice in row.choices):
        raise BadRow("a choice of this row is blank")
    return row.choices


def _lettered(text: str, choices: Sequence[str]) -> str | None:
    """The choice whose letter the text gives; "A dog" gives none, nor does a choice's own text."""
    line = _without(text.strip().split("\n")[0], choices)
    found = _ALONE.match(line) or _FIRST.match(line) or _SAID.search(line)
    place = LETTERS.index(found[1].upper()) if found else len(choices)
    return choices[place] if place < len(choices) else None


def _without(line: str, choices: Sequence[str]) -> str:
    """The line without choices that begin like a letter, such as "A. thaliana"."""
    alike = sorted(filter(_FIRST.match, choices), key=len, reverse=True)
    if not alike:
        return line
    return re.sub("|".join(map(re.escape, alike)), "_", line, flags=re.IGNORECASE)
