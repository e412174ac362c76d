"""Text classification: one label for each text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bakeoff.core.errors import InvalidSpec, UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Completion, Labelled, Likelihood, Prediction
from bakeoff.core.ports import Answer, Ask, Roles, Settled
from bakeoff.core.requests import DEFAULT_HYPOTHESIS, Classify, ZeroShot
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks.choosing import (
    RULE,
    check_method,
    folded,
    match_option,
    most_likely,
    same_option,
)
from bakeoff.tasks.naming import NamingTask
from bakeoff.tasks.prompting import continuations, required
from bakeoff.tasks.summarization import SOURCE_NAMES

_NAMELESS = re.compile(r"^LABEL_\d+$")


class TextClassification(NamingTask):
    """Roles `source` and `reference` (the label); accuracy and macro-F1 by default.

    A classifier answers with its own labels (spelled as in `labels`, where given); an NLI encoder
    takes `labels` zero-shot; a generative model is scored by the likelihood of each label, or
    generates one (`method: generate`). The reference is a label or its number in `labels`, from 0
    or from 1: in all rows alike, which `reference_is` says or the rows decide.
    """

    kind = "text-classification"
    allowed = frozenset({"labels", "hypothesis", "method", "reference_is"})
    ways = ("text", "index-from-0", "index-from-1")
    stray = (
        "is no label of task.labels and counts as none",
        "are no label of task.labels and count as none",
    )
    cue = "Label:"
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
        _check_labels(spec)

    def check_model(self, facts: ModelFacts) -> None:
        """Labels are needed by every model that has none of its own."""
        if facts.capabilities.kind == "encoder":
            self._check_encoder(facts)
            return
        check_method(self.spec.method, facts)
        if not self.labels:
            raise UnsupportedOption(
                f"{facts.ref.uri} has no labels of its own: set task.labels", option="task.labels"
            )

    def _check_encoder(self, facts: ModelFacts) -> None:
        heads, own = facts.capabilities.heads, facts.capabilities.labels
        if not {"classify", "pair-classify"} & heads:
            raise UnsupportedOption(
                f"{facts.ref.uri} ({facts.architecture}) has no classification head: take a "
                "...ForSequenceClassification checkpoint, or a model that writes text",
                option="model",
            )
        if "pair-classify" in heads:
            if not self.labels:
                raise UnsupportedOption(
                    f"{facts.ref.uri} compares two texts ({', '.join(own)}): set task.labels to "
                    "let it choose among them",
                    option="task.labels",
                )
        elif self.labels and not self._spelled(own):
            missing = [label for label in self.labels if same_option(label, own) is None]
            raise UnsupportedOption(
                f"{facts.ref.uri} does not know the label {missing[0]!r}: it knows "
                f"{', '.join(own)}",
                option="task.labels",
            )

    def _spelled(self, own: Sequence[str]) -> bool:
        """Whether the model's labels are those of the task, by name or, nameless, by place."""
        by_place = len(own) == len(self.labels) and all(map(_NAMELESS.match, own))
        return by_place or all(same_option(label, own) is not None for label in self.labels)

    def _zero_shot(self, facts: ModelFacts) -> bool:
        own = facts.capabilities.labels
        return "pair-classify" in facts.capabilities.heads and not self._spelled(own)

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
                return (ZeroShot(text, self.labels, self.spec.hypothesis or DEFAULT_HYPOTHESIS),)
            return (Classify(text),)
        context = self.prompt(row, facts, prompt or PromptSpec())
        if not self.needs_likelihood(facts):
            return (context,)
        return continuations(context, self.labels)

    def directive(self, facts: ModelFacts) -> str:
        """Lists the labels and asks for one."""
        listed = ", ".join(self.labels)
        return f"Which of these labels fits the text: {listed}? Answer with the label only."

    def body(self, row: TaskRow, facts: ModelFacts) -> str:
        """The text, marked as such."""
        return f"Text: {required(row, 'source')}"

    def encoder_text(self, row: TaskRow, facts: ModelFacts) -> str:
        """The labels have to be said, unless the checkpoint was trained for this task."""
        if facts.prefix:
            return facts.prefix + self.payload(row, facts)
        return f"{self.directive(facts)}\n\n{self.body(row, facts)}"

    def variables(self) -> Mapping[str, Any]:
        """`labels`, a list."""
        return {"labels": list(self.labels)}

    def answer_settings(self, row: TaskRow) -> Any:
        """The labels, which spell the answer; the method shows in what is asked."""
        return {"kind": self.kind, "labels": list(self.labels), "rule": RULE}

    def answer(
        self, row: TaskRow, outcomes: Sequence[Completion | Likelihood | Prediction]
    ) -> Answer:
        """The label, spelled as in `labels` where these are given."""
        first = outcomes[0]
        if isinstance(first, Prediction) and isinstance(first.value, Labelled):
            return self._labelled(first.value)
        if isinstance(first, Likelihood):
            best = most_likely(self.labels, [o for o in outcomes if isinstance(o, Likelihood)])
            shares = dict(zip(self.labels, best.extra["probabilities"], strict=True))
            return Answer(best.text, {**best.extra, "probabilities": shares})
        answer = super().answer(row, outcomes)
        label = match_option(answer.text, self.labels)
        if label is None:
            return Answer(answer.text.strip(), {**answer.extra, "matched": not self.labels})
        return Answer(label, {**answer.extra, "said": answer.text, "matched": True})

    def _labelled(self, found: Labelled) -> Answer:
        own = [name for name, _ in found.probabilities]
        spelled = {name: same_option(name, self.labels) or name for name in own}
        if len(own) == len(self.labels) and all(map(_NAMELESS.match, own)):
            spelled = dict(zip(own, self.labels, strict=True))
        shares = {spelled[name]: share for name, share in found.probabilities}
        return Answer(spelled.get(found.label, found.label), {"probabilities": shares})

    def options(self, row: TaskRow) -> tuple[str, ...] | None:
        """The labels; without `labels` any text may be one."""
        return self.labels or None

    def settled(
        self, rows: Iterable[TaskRow], columns: Sequence[str], reference: Sequence[str]
    ) -> Settled:
        """Nothing is there to settle without `labels`."""
        return super().settled(rows, columns, reference) if self.labels else Settled(self)


def _check_labels(spec: TaskSpec) -> None:
    labels = spec.labels
    if labels is not None and len(labels) < 2:
        raise InvalidSpec("task.labels needs at least two labels")
    plain = [folded(label) for label in labels or ()]
    if "" in plain:
        raise InvalidSpec("task.labels holds a blank label")
    if len(set(plain)) != len(plain):
        raise InvalidSpec(f"task.labels names one twice: {', '.join(labels or ())}")
    if spec.method == "likelihood" and not labels:
        raise InvalidSpec("task.method is 'likelihood', which needs task.labels")
    if spec.hypothesis is not None and "{}" not in spec.hypothesis:
        raise InvalidSpec(f"task.hypothesis {spec.hypothesis!r} needs {{}} for the label")
    if spec.hypothesis is not None and not labels:
        raise InvalidSpec("task.hypothesis is about labels: set task.labels")
    if spec.reference_is == "letter":
        raise InvalidSpec("task.reference_is 'letter' belongs to multiple-choice")
    if spec.reference_is != "auto" and not labels:
        raise InvalidSpec("task.reference_is is about labels: set task.labels")
