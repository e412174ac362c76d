"""Multiple choice: which of several answers is right."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.core.errors import BadRow, InvalidSpec
from bakeoff.core.outputs import Completion, Likelihood, Prediction
from bakeoff.core.ports import Answer, Ask, ModelFacts, Roles, ScoreAsk
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec
from bakeoff.tasks.choosing import match_option, most_likely
from bakeoff.tasks.prompting import TextTask, required

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class MultipleChoice(TextTask):
    """Roles `question`, `choices` and `reference`; accuracy by default.

    The reference is the right choice's text, its letter (A, B, ...) or its number from 0. Models
    that have likelihoods are scored by that of each choice; the others, or all with
    `method: generate`, answer with a letter.
    """

    kind = "multiple-choice"
    allowed = frozenset({"method"})
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

    def check(self, facts: ModelFacts) -> None:
        """Encoders are refused."""
        super().check(facts)
        if self.spec.method == "likelihood" and not facts.capabilities.likelihood:
            raise InvalidSpec(f"{facts.ref.uri} gives no likelihoods: set task.method: generate")

    def needs_likelihood(self, facts: ModelFacts) -> bool:
        """Unless letters are generated."""
        return self.spec.method != "generate" and facts.capabilities.likelihood

    def ask(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec | None) -> Ask:
        """The likelihood of each choice, or a question with letters."""
        choices = _choices(row)
        context = self.prompt(row, facts, prompt or PromptSpec())
        if not self.needs_likelihood(facts):
            return (context,)
        return tuple(ScoreAsk(context, f" {choice}") for choice in choices)

    def payload(self, row: TaskRow, facts: ModelFacts) -> str:
        """For an encoder-decoder model the question; for a baseline its column."""
        if facts.reads_column is not None:
            return super().payload(row, facts)
        return self.instruction(row)

    def instruction(self, row: TaskRow) -> str:
        """Question and, for models that generate, the lettered choices."""
        question = required(row, "question")
        text = f"{row.context}\n\n" if row.context else ""
        if self.spec.method != "generate":
            return f"{text}Question: {question}\nAnswer:"
        lettered = zip(LETTERS, _choices(row), strict=False)
        listed = "\n".join(f"{letter}. {choice}" for letter, choice in lettered)
        return f"{text}Question: {question}\n{listed}\nAnswer with the letter only.\nAnswer:"

    def answer(
        self, row: TaskRow, outcomes: Sequence[Completion | Likelihood | Prediction]
    ) -> Answer:
        """The chosen text."""
        choices = _choices(row)
        if isinstance(outcomes[0], Likelihood):
            return most_likely(choices, [o for o in outcomes if isinstance(o, Likelihood)])
        answer = super().answer(row, outcomes)
        letter = match_option(answer.text.split("\n")[0], LETTERS[: len(choices)])
        chosen = choices[LETTERS.index(letter)] if letter else match_option(answer.text, choices)
        extra = {**answer.extra, "said": answer.text, "matched": chosen is not None}
        return Answer(chosen if chosen is not None else answer.text.strip(), extra)

    def references(self, row: TaskRow) -> tuple[str, ...]:
        """The right choice's text, whichever way the data names it."""
        return tuple(_right(reference, row.choices) for reference in row.references)


def _choices(row: TaskRow) -> tuple[str, ...]:
    if len(row.choices) < 2:
        raise BadRow(f"the row has {len(row.choices)} choices: it needs at least two")
    if len(row.choices) > len(LETTERS):
        raise BadRow(f"the row has {len(row.choices)} choices: at most {len(LETTERS)} are lettered")
    return row.choices


def _right(reference: str, choices: tuple[str, ...]) -> str:
    said = reference.strip()
    if said in choices:
        return said
    if said.isdecimal() and int(said) < len(choices):
        return choices[int(said)]
    if len(said) == 1 and said.upper() in LETTERS[: len(choices)]:
        return choices[LETTERS.index(said.upper())]
    return reference
