"""Text classification: one label for each text."""

from __future__ import annotations

from collections.abc import Sequence

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.outputs import Completion, Labelled, Likelihood, Prediction
from bakeoff.core.ports import Answer, Ask, ModelFacts, Roles, ScoreAsk
from bakeoff.core.requests import Classify, ZeroShot
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks.choosing import match_option, most_likely
from bakeoff.tasks.prompting import TextTask, required
from bakeoff.tasks.summarization import SOURCE_NAMES

HYPOTHESIS = "This example is {}."


class TextClassification(TextTask):
    """Roles `source` and `reference` (the label); accuracy and macro-F1 by default.

    A classifier answers with its own labels; an NLI encoder takes `labels` zero-shot; a
    generative model is scored by the likelihood of each label, or generates one
    (`method: generate`).
    """

    kind = "text-classification"
    allowed = frozenset({"labels", "hypothesis", "method"})
    roles = Roles(
        required=("source",),
        optional=("id", "reference", "group"),
        guesses={
            "source": (*SOURCE_NAMES, "sentence", "review"),
            "reference": ("label", "labels", "class", "category", "reference", "target"),
            "id": ("id",),
        },
    )
    default_metrics = ("accuracy", "macro_f1")

    def __init__(self, spec: TaskSpec) -> None:
        super().__init__(spec)
        self.labels = spec.labels or ()
        if len(set(self.labels)) != len(self.labels):
            raise InvalidSpec(f"task.labels names one twice: {', '.join(self.labels)}")
        if spec.hypothesis is not None and "{}" not in spec.hypothesis:
            raise InvalidSpec(f"task.hypothesis {spec.hypothesis!r} needs {{}} for the label")

    def check(self, facts: ModelFacts) -> None:
        """Labels are needed by every model that has none of its own."""
        heads = facts.capabilities.heads
        if facts.capabilities.kind == "encoder":
            if not {"classify", "pair-classify"} & heads:
                raise InvalidSpec(
                    f"{facts.ref.uri} ({facts.architecture}) has no classification head"
                )
            if self._zero_shot(facts) or not self.labels:
                return
            missing = sorted(set(self.labels) - set(facts.capabilities.labels))
            if missing:
                raise InvalidSpec(
                    f"{facts.ref.uri} does not know the label {missing[0]!r}: it knows "
                    f"{', '.join(facts.capabilities.labels)}"
                )
        elif facts.architecture != "baseline" and not self.labels and not self.template:
            raise InvalidSpec(f"{facts.ref.uri} has no labels of its own: set task.labels")

    def _zero_shot(self, facts: ModelFacts) -> bool:
        return (
            "pair-classify" in facts.capabilities.heads
            and bool(self.labels)
            and not (set(self.labels) <= set(facts.capabilities.labels))
        )

    def needs_likelihood(self, facts: ModelFacts) -> bool:
        """Unless the model generates its label."""
        if facts.capabilities.kind == "encoder" or not self.labels:
            return False
        return self.spec.method != "generate" and facts.capabilities.likelihood

    def ask(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec | None) -> Ask:
        """A classification, a likelihood for each label, or a prompt."""
        if facts.capabilities.kind == "encoder":
            text = required(row, "source")
            if self._zero_shot(facts):
                hypothesis = self.spec.hypothesis or HYPOTHESIS
                return (ZeroShot(text, self.labels, hypothesis),)
            return (Classify(text),)
        context = self.prompt(row, facts, prompt or PromptSpec())
        if not self.needs_likelihood(facts):
            return (context,)
        lead = "" if facts.capabilities.kind == "seq2seq" or _is_chat(facts, prompt, self) else " "
        return tuple(ScoreAsk(context, lead + label) for label in self.labels)

    def instruction(self, row: TaskRow) -> str:
        """Lists the labels and asks for one."""
        text = required(row, "source")
        return (
            f"Which label fits the text: {', '.join(self.labels)}? "
            f"Answer with the label only.\n\nText: {text}\nLabel:"
        )

    def answer(
        self, row: TaskRow, outcomes: Sequence[Completion | Likelihood | Prediction]
    ) -> Answer:
        """The label."""
        first = outcomes[0]
        if isinstance(first, Prediction) and isinstance(first.value, Labelled):
            found = first.value
            return Answer(found.label, {"probabilities": dict(found.probabilities)})
        if isinstance(first, Likelihood):
            return most_likely(self.labels, [o for o in outcomes if isinstance(o, Likelihood)])
        answer = super().answer(row, outcomes)
        label = match_option(answer.text, self.labels) if self.labels else None
        if label is None:
            return Answer(answer.text.strip(), {**answer.extra, "matched": not self.labels})
        return Answer(label, {**answer.extra, "said": answer.text, "matched": True})


def _is_chat(facts: ModelFacts, prompt: PromptSpec | None, task: TextTask) -> bool:
    mode = (prompt.mode if prompt else None) or task.spec.mode
    return facts.capabilities.chat_template and mode != "plain"
