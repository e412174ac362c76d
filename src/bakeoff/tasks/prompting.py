"""What all text tasks share: from instruction, template and examples to a prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bakeoff.core.errors import BadRow, InvalidSpec
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Completion, Likelihood, Prediction
from bakeoff.core.ports import Answer, Ask, ScoreAsk, Task
from bakeoff.core.requests import Message, Messages, Prompt, Source, Text
from bakeoff.core.rows import Notice, TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks.fitting import check_prompt, is_baseline, refuse_encoder, speaks
from bakeoff.tasks.templates import RowTemplate

_ALWAYS = frozenset({"kind", "template", "system", "mode"})


class TextTask(Task):
    """A task whose answer is text.

    A decoder-only model reads a directive and the row's body, as a conversation where it has a
    chat template, else as plain text that ends in a cue (`Summary:`). An encoder-decoder model
    reads the row's payload behind the checkpoint's prefix. A template, of the model's entry or of
    the task, replaces all of these. Baselines read the payload alone.
    """

    allowed: ClassVar[frozenset[str]] = frozenset()
    """Fields of `TaskSpec` that this kind takes, besides those of all kinds."""
    cue: ClassVar[str] = ""
    """What a plain prompt ends with, so that a model that only continues text answers."""

    def __init__(self, spec: TaskSpec) -> None:
        fields = TaskSpec.model_fields
        for name in fields.keys() - _ALWAYS - self.allowed:
            if getattr(spec, name) != fields[name].default:
                takes = ", ".join(sorted((_ALWAYS | self.allowed) - {"kind"}))
                raise InvalidSpec(
                    f"task.{name} does not belong to {self.kind}, which takes {takes}"
                )
        self.spec = spec
        self.template = None if spec.template is None else _compiled(spec.template, "task.template")
        self._of_prompt: dict[str, RowTemplate] = {}

    def hints(self) -> tuple[str, ...]:
        """The kind with underscores, as the library's pipelines named it."""
        return (self.kind.replace("-", "_"),)

    def needs_likelihood(self, facts: ModelFacts) -> bool:
        """Text tasks generate."""
        return False

    def check(self, facts: ModelFacts, prompt: PromptSpec | None = None) -> None:
        """The prompt first, then the model."""
        prompt = prompt or PromptSpec()
        self.template_for(prompt)
        check_prompt(self.spec, facts, prompt)
        if not is_baseline(facts):
            self.check_model(facts)

    def notices(self, facts: ModelFacts, prompt: PromptSpec | None = None) -> tuple[Notice, ...]:
        """A system prompt that has no place of its own in the model's conversations."""
        prompt = prompt or PromptSpec()
        if facts.chat.system or not self._system(prompt) or not speaks(self.spec, facts, prompt):
            return ()
        text = (
            f"the chat template of {facts.ref.short_name} has no system role: the system prompt "
            "is put before the user's text, with a blank line between"
        )
        return (Notice("system-prompt-in-user-turn", text),)

    def check_model(self, facts: ModelFacts) -> None:
        """Decoder-only and encoder-decoder models; encoders are refused.

        Raises:
            UnsupportedOption: the model cannot be asked this task.
        """
        refuse_encoder(self.kind, facts)

    def check_columns(self, columns: Sequence[str], prompt: PromptSpec | None = None) -> None:
        """Only templates name columns."""
        template = self.template_for(prompt or PromptSpec())
        if template is not None:
            template.check_columns(columns, self.variables())

    def ask(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec | None) -> Ask:
        """One prompt."""
        return (self.prompt(row, facts, prompt or PromptSpec()),)

    def prompt(self, row: TaskRow, facts: ModelFacts, prompt: PromptSpec) -> Prompt:
        """The row as this model reads it."""
        if facts.reads_column is None:
            self.check_row(row)
        if is_baseline(facts):
            return Source(self.payload(row, facts))
        template = self.template_for(prompt)
        seq2seq = facts.capabilities.kind == "seq2seq"
        if template is not None:
            text = _filled(template.render(row, self.variables()), template.where)
            return self.encoder_input(text, facts) if seq2seq else self._turns(text, facts, prompt)
        if seq2seq:
            return self.encoder_input(self.encoder_text(row, facts), facts)
        return self._turns(self.body(row, facts), facts, prompt, self.directive(facts), self.cue)

    def check_row(self, row: TaskRow) -> None:
        """Whether the row can be asked of anybody, whatever prompt or template a model has.

        Models are compared on the rows that all of them answered: what one template makes of an
        empty text says nothing.

        Raises:
            BadRow: the text of a required role is blank.
        """
        for role in ("source", "question", "context"):
            if role in self.roles.required:
                required(row, role)

    def answer(
        self, row: TaskRow, outcomes: Sequence[Completion | Likelihood | Prediction]
    ) -> Answer:
        """The generated text as it stands."""
        first = outcomes[0]
        if not isinstance(first, Completion):
            raise TypeError(f"{self.kind} expected a text, got {type(first).__name__}")
        return Answer(first.text)

    def directive(self, facts: ModelFacts) -> str:
        """What a decoder-only model is told to do; empty for nothing."""
        return ""

    def body(self, row: TaskRow, facts: ModelFacts) -> str:
        """What the directive is about."""
        return required(row, "source")

    def payload(self, row: TaskRow, facts: ModelFacts) -> str:
        """The row's own text: what baselines read, and encoder-decoder models behind a prefix."""
        if facts.reads_column is not None:
            value = row.cells.get(facts.reads_column)
            failed = row.cells.get(f"{facts.reads_column}_error")
            if failed and not value:  # as `bakeoff infer` writes a row that failed
                raise BadRow(f"column {facts.reads_column!r} holds a failure: {failed}")
            if value is None:
                raise BadRow(f"column {facts.reads_column!r} has no value in this row")
            return value if isinstance(value, str) else str(value)
        return required(row, "source")

    def encoder_text(self, row: TaskRow, facts: ModelFacts) -> str:
        """What an encoder-decoder model reads when no template is given."""
        return facts.prefix + self.payload(row, facts)

    def encoder_input(self, text: str, facts: ModelFacts) -> Source:
        """The same as the engine takes it."""
        return Source(text)

    def variables(self) -> Mapping[str, Any]:
        """Further variables for templates; a column of the same name wins."""
        return {}

    def template_for(self, prompt: PromptSpec) -> RowTemplate | None:
        """The template that counts: that of the model's entry, else the task's.

        Raises:
            InvalidSpec: it is no template, or empty.
        """
        if prompt.template is None:
            return self.template
        if prompt.template not in self._of_prompt:
            self._of_prompt[prompt.template] = _compiled(prompt.template, "prompt.template")
        return self._of_prompt[prompt.template]

    def _system(self, prompt: PromptSpec) -> str | None:
        return prompt.system if prompt.system is not None else self.spec.system

    def _turns(
        self,
        body: str,
        facts: ModelFacts,
        prompt: PromptSpec,
        directive: str = "",
        cue: str = "",
    ) -> Text | Messages:
        system = self._system(prompt)
        if not speaks(self.spec, facts, prompt):
            shots = [_shot(e.input, cue, e.output) for e in prompt.examples]
            last = f"{body}\n{cue}" if cue else body
            return Text("\n\n".join(filter(None, [system, directive, *shots, last])))
        turns = [Message("system", system)] if system else []
        for example in prompt.examples:
            turns.append(Message("user", _told(directive, example.input)))
            turns.append(Message("assistant", example.output))
        return Messages((*turns, Message("user", _told(directive, body))))


def continuations(context: Prompt, texts: Sequence[str]) -> tuple[ScoreAsk, ...]:
    """The texts as continuations to score.

    Behind plain text they begin with a blank, unless it ends in one. A chat template ends where
    the answer begins, and a decoder begins with it: no blank there.
    """
    blank = isinstance(context, Text) and not context.text[-1:].isspace()
    return tuple(ScoreAsk(context, f" {text}" if blank else text) for text in texts)


def required(row: TaskRow, role: str) -> str:
    """The text of a role.

    Raises:
        BadRow: the row has none.
    """
    value = getattr(row, role)
    if value is None or not str(value).strip():
        raise BadRow(f"the {role} is empty in this row")
    return str(value)


def _compiled(source: str, where: str) -> RowTemplate:
    if not source.strip():
        raise InvalidSpec(f"{where} is empty: write a Jinja template, or leave it out")
    return RowTemplate(source, where)


def _filled(text: str, where: str) -> str:
    if not text.strip():
        raise BadRow(f"{where} gives an empty text for this row")
    return text


def _told(directive: str, body: str) -> str:
    return f"{directive}\n\n{body}" if directive else body


def _shot(said: str, cue: str, output: str) -> str:
    if cue:
        return f"{said}\n{cue} {output}"
    return f"{said}{' ' if said.rstrip().endswith((':', '：')) else chr(10)}{output}"
