"""Question answering over a given context, extractive or generative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Completion, Likelihood, Prediction, Span
from bakeoff.core.ports import Answer, Ask, Roles
from bakeoff.core.requests import AnswerSpan
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks.fitting import is_baseline
from bakeoff.tasks.prompting import TextTask, required

NO_ANSWER = "no answer"


class QuestionAnswering(TextTask):
    """Roles `question` and `context`, optional `reference`; SQuAD F1 by default.

    An empty prediction means "the context holds no answer"; a generative model says so by the
    words `no answer`, which it is told.
    """

    kind = "question-answering"
    allowed = frozenset({"no_answer"})
    cue = "Answer:"
    roles = Roles(
        required=("question", "context"),
        optional=("id", "reference", "group"),
        guesses={
            "question": ("question", "query"),
            "context": ("context", "passage", "paragraph", "document", "text"),
            "reference": ("answer", "answers", "reference", "ground_truth", "target"),
            "id": ("id",),
        },
    )
    default_metrics = ("squad_f1",)

    def __init__(self, spec: TaskSpec) -> None:
        super().__init__(spec)
        self.blank_is_answer = spec.no_answer

    def check_model(self, facts: ModelFacts) -> None:
        """An encoder needs an extractive head."""
        capabilities = facts.capabilities
        if capabilities.kind == "encoder" and "answer-span" not in capabilities.heads:
            raise UnsupportedOption(
                f"{facts.ref.uri} ({facts.architecture}) has no question-answering head: take a "
                "...ForQuestionAnswering checkpoint, or a model that writes text",
                option="model",
            )

    def ask(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec | None) -> Ask:
        """A span from an encoder, a prompt for the others."""
        if facts.capabilities.kind == "encoder":
            question, context = required(row, "question"), required(row, "context")
            return (AnswerSpan(question, context, allow_no_answer=self.spec.no_answer),)
        return super().ask(row, facts, prompt)

    def payload(self, row: TaskRow, facts: ModelFacts) -> str:
        """Question and context, as T5 was trained to read them; for a baseline the context."""
        if facts.reads_column is not None:
            return super().payload(row, facts)
        context = required(row, "context")
        if is_baseline(facts):
            return context
        return f"question: {required(row, 'question')} context: {context}"

    def directive(self, facts: ModelFacts) -> str:
        """Asks for words of the text."""
        told = "Answer the question with a few words taken from the text."
        if self.spec.no_answer:
            told += f' If the text does not hold the answer, say "{NO_ANSWER}".'
        return told

    def body(self, row: TaskRow, facts: ModelFacts) -> str:
        """The question last: small models lose one that stands before a long text."""
        context, question = required(row, "context"), required(row, "question")
        return f"Text: {context}\n\nQuestion: {question}"

    def answer_settings(self, row: TaskRow) -> Any:
        """Whether the words `no answer` mean that there is none."""
        return {"kind": self.kind, "no_answer": self.spec.no_answer}

    def answer(
        self, row: TaskRow, outcomes: Sequence[Completion | Likelihood | Prediction]
    ) -> Answer:
        """The span's text with its place, or the generated words."""
        first = outcomes[0]
        if isinstance(first, Prediction) and isinstance(first.value, Span):
            span = first.value
            place = {"start": span.start, "end": span.end, "score": span.score}
            return Answer(span.text, {**place, "no_answer": span.no_answer})
        answer = super().answer(row, outcomes)
        if self.spec.no_answer and _says_none(answer.text):
            return Answer("", {**answer.extra, "said": answer.text})
        return answer


def _says_none(text: str) -> bool:
    return text.strip().strip("\"'`.*“”‘’").strip().casefold() == NO_ANSWER
