"""What all text tasks share: from instruction, template and examples to a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.core.errors import BadRow, InvalidSpec
from bakeoff.core.outputs import Completion, Likelihood, Prediction
from bakeoff.core.ports import Answer, Ask, ModelFacts, Task
from bakeoff.core.requests import Message, Messages, Prompt, Source, Text
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks.templates import RowTemplate


class TextTask(Task):
    """A task whose answer is text.

    A decoder-only model reads an instruction (as a conversation where it has a chat template), an
    encoder-decoder model reads the source behind the checkpoint's prefix. A template, of the
    model's entry or of the task, replaces instruction and prefix.
    """

    allowed: frozenset[str] = frozenset()
    """Fields of `TaskSpec` that this kind takes, besides those of all kinds."""

    def __init__(self, spec: TaskSpec) -> None:
        always = {"kind", "template", "system", "mode"}
        for name in sorted(spec.model_fields_set - always - self.allowed):
            takes = ", ".join(sorted((always | self.allowed) - {"kind"}))
            raise InvalidSpec(f"task.{name} does not belong to {self.kind}, which takes {takes}")
        self.spec = spec
        self.template = RowTemplate(spec.template, "task.template") if spec.template else None
        self._of_prompt: dict[str, RowTemplate] = {}

    def hints(self) -> tuple[str, ...]:
        """The kind with underscores, as the library's pipelines named it."""
        return (self.kind.replace("-", "_"),)

    def needs_likelihood(self, facts: ModelFacts) -> bool:
        """Text tasks generate."""
        return False

    def check(self, facts: ModelFacts) -> None:
        """Decoder-only and encoder-decoder models; encoders are refused."""
        if facts.capabilities.kind == "encoder":
            raise InvalidSpec(
                f"{facts.ref.uri} is an encoder ({facts.architecture}), which cannot write text: "
                f"{self.kind} needs a decoder-only or encoder-decoder model"
            )

    def ask(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec | None) -> Ask:
        """One prompt."""
        return (self.prompt(row, facts, prompt or PromptSpec()),)

    def prompt(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec) -> Prompt:
        """The row as this model reads it."""
        if facts.architecture == "baseline":
            return Source(self.payload(row, facts))
        template = self._template(prompt)
        kind = facts.capabilities.kind
        if template is not None:
            text = template.render(row, self.variables())
        elif kind == "seq2seq":
            text = facts.prefix + self.payload(row, facts)
        else:
            text = self.instruction(row)
        if kind == "seq2seq":
            return self.encoder_input(text, facts, prompt)
        return self._decoder_prompt(text, facts, prompt)

    def answer(
        self, row: TaskRow, outcomes: Sequence[Completion | Likelihood | Prediction]
    ) -> Answer:
        """The generated text as it stands."""
        first = outcomes[0]
        if not isinstance(first, Completion):
            raise TypeError(f"{self.kind} expected a text, got {type(first).__name__}")
        return Answer(first.text)

    def payload(self, row: TaskRow, facts: ModelFacts) -> str:
        """The row's own text, without any instruction."""
        if facts.reads_column is not None:
            value = row.cells.get(facts.reads_column)
            if value is None:
                raise BadRow(f"column {facts.reads_column!r} has no value in this row")
            return value if isinstance(value, str) else str(value)
        return required(row, "source")

    def instruction(self, row: TaskRow) -> str:
        """What a decoder-only model is told when no template is given."""
        raise NotImplementedError

    def variables(self) -> Mapping[str, Any]:
        """Further variables for templates."""
        return {}

    def encoder_input(self, text: str, facts: ModelFacts, prompt: PromptSpec) -> Source:
        """What an encoder-decoder model reads."""
        for name, value in (("system", prompt.system), ("examples", prompt.examples)):
            if value:
                raise InvalidSpec(
                    f"prompt.{name} cannot be put to {facts.ref.uri}, an encoder-decoder model: "
                    "write it into prompt.template"
                )
        return Source(text)

    def _template(self, prompt: PromptSpec) -> RowTemplate | None:
        if prompt.template is None:
            return self.template
        if prompt.template not in self._of_prompt:
            self._of_prompt[prompt.template] = RowTemplate(prompt.template, "prompt.template")
        return self._of_prompt[prompt.template]

    def _decoder_prompt(self, text: str, facts: ModelFacts, prompt: PromptSpec) -> Text | Messages:
        system = prompt.system if prompt.system is not None else self.spec.system
        mode = prompt.mode or self.spec.mode
        if mode == "chat" and not facts.capabilities.chat_template:
            raise InvalidSpec(f"{facts.ref.uri} has no chat template: set mode: plain")
        if mode == "plain" or not facts.capabilities.chat_template:
            parts = [system] if system else []
            parts += [f"{e.input}\n{e.output}" for e in prompt.examples]
            return Text("\n\n".join([*parts, text]))
        turns = [Message("system", system)] if system else []
        for example in prompt.examples:
            turns += [Message("user", example.input), Message("assistant", example.output)]
        return Messages((*turns, Message("user", text)))


def required(row: TaskRow, role: str) -> str:
    """The text of a role.

    Raises:
        BadRow: the row has none.
    """
    value = getattr(row, role)
    if value is None or not str(value).strip():
        raise BadRow(f"the {role} is empty in this row")
    return str(value)
