"""Which tools a request has, and what its `tool_choice` makes of the text. Pure."""

from __future__ import annotations

import json
import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.core.errors import InvalidRequest, UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.requests import Grammar, Tool, ToolCall
from bakeoff.engines.grammar.trial import BLANKS
from bakeoff.serving.limits import Limits
from bakeoff.serving.tools.bodies import CallBody, Choice, NamedTool, ToolBody
from bakeoff.serving.tools.forms import FORMS, ToolForm
from bakeoff.serving.tools.reading import Reader

_SPACING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""JSON as Python writes it, which is how most models were shown calls."""
_OPEN = ("patternProperties", "allOf", "anyOf", "oneOf", "$ref", "additionalProperties")
"""Keywords that say what further arguments a tool takes."""
_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Tools:
    """What a request may call.

    Attributes:
        form: in which the model writes calls.
        given: the tools.
        schemas: of their arguments, by name.
        called: names of those that the model is made to call one of; empty where it may choose.
        several: whether it may call more than one.
    """

    form: ToolForm
    given: tuple[Tool, ...]
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    called: tuple[str, ...] = ()
    several: bool = True

    def reader(self) -> Reader:
        """Reads a text of the model."""
        names = [one.name for one in self.given]
        most = None if self.several else 1
        return Reader(self.form, names, certain=bool(self.called), most=most)

    def new_id(self) -> str:
        """For a call; unlike any other."""
        if self.form.id_size is not None:
            return "".join(secrets.choice(_LETTERS) for _ in range(self.form.id_size))
        return f"call_{secrets.token_hex(12)}"

    def grammar(self) -> Grammar | None:
        """What makes the model call, or None where it need not."""
        if not self.called:
            return None
        return Grammar("grammar", "\n".join(["start: calls", *self._calls(self.called)]))

    def grammar_beside(self, answer: Grammar, field: str) -> Grammar:
        """What has the model call, or answer in a form of its own.

        Args:
            answer: what an answer has to look like.
            field: that says so.

        Raises:
            InvalidRequest: the model is made to call, so that it cannot answer.
            UnsupportedOption: the form is no JSON.
        """
        if self.called:
            raise InvalidRequest(
                f"{field} and a tool_choice that makes the model call: leave one out", field=field
            )
        if answer.kind not in ("json_object", "json_schema"):
            raise UnsupportedOption(f"{field} beside tools has to ask for JSON", option=field)
        names = [one.name for one in self.given]
        schema = json.loads(answer.text) if answer.text else {"type": "object"}
        if isinstance(schema, dict):
            schema["x-guidance"] = {"whitespace_pattern": BLANKS}
        shown = f"answer: %json {json.dumps(schema)}"
        lines = ["start: calls | answer", shown, *self._calls(names)]
        return Grammar("grammar", "\n".join(lines))

    def _calls(self, names: Sequence[str]) -> list[str]:
        """Rules of Lark's for calls of some tools."""
        form = self.form
        before, between, behind = (_quoted(text) for text in form.writes)
        again = f" ({between} call)*" if self.several and form.several else ""
        lines = [f"calls: {before} call{again} {behind}"]
        lines.append("call: " + " | ".join(f"call_{at}" for at in range(len(names))))
        for at, name in enumerate(names):
            head = f'{{"name": {json.dumps(name)}, "{form.key}": '
            lines.append(f'call_{at}: {_quoted(head)} arguments_{at} "}}"')
            schema = {**_closed(self.schemas[name]), "x-guidance": _SPACING}
            lines.append(f"arguments_{at}: %json {json.dumps(schema)}")
        return lines


def _quoted(text: str) -> str:
    return json.dumps(text) if text else ""


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, where nothing is said of further arguments, without any."""
    if any(name in schema for name in _OPEN):
        return {"type": "object", **schema}
    return {"type": "object", "properties": {}, **schema, "additionalProperties": False}


def tools_of(
    bodies: Sequence[ToolBody] | None, choice: Choice | None, facts: ModelFacts, limits: Limits
) -> Tools | None:
    """The tools of a request; None where the model is not to call any.

    Raises:
        InvalidRequest: a tool or the choice is wrong, or there are too many.
        UnsupportedOption: the model's template has no place for tools.
    """
    if not bodies:
        if isinstance(choice, NamedTool) or choice == "required":
            raise InvalidRequest("tool_choice needs tools to choose from", field="tool_choice")
        return None
    limits.count("tools", bodies, limits.tools)
    given = tuple(_tool(one, at) for at, one in enumerate(bodies))
    if sum(len(one.text) for one in given) > limits.tool_chars:
        raise InvalidRequest(
            f"tools have more than {limits.tool_chars} characters together", field="tools"
        )
    names = [one.name for one in given]
    if len(set(names)) < len(names):
        raise InvalidRequest("tools holds two of the same name", field="tools")
    called = _called(choice, names)
    if choice == "none":
        return None
    return Tools(
        form=form_of(facts),
        given=given,
        schemas={one.function.name: one.function.parameters or {} for one in bodies},
        called=called,
        several=not isinstance(choice, NamedTool),
    )


def _tool(said: ToolBody, at: int) -> Tool:
    function = said.function
    schema = function.parameters
    if schema and schema.get("type", "object") != "object":
        raise InvalidRequest(
            f"tools.{at}.function.parameters has the type {str(schema['type'])[:40]!r}: arguments "
            "are an object",
            field=f"tools.{at}.function.parameters",
        )
    shown = function.model_dump(include={"name", "description", "parameters"}, exclude_none=True)
    text = json.dumps({"type": "function", "function": shown}, ensure_ascii=False)
    return Tool(function.name, text)


def _called(choice: Choice | None, names: Sequence[str]) -> tuple[str, ...]:
    if choice == "required":
        return tuple(names)
    if not isinstance(choice, NamedTool):
        return ()
    name = choice.function.name
    if name not in names:
        raise InvalidRequest(
            f"tool_choice names {name[:64]!r}, which is not among tools", field="tool_choice"
        )
    return (name,)


def form_of(facts: ModelFacts, field: str = "tools") -> ToolForm:
    """In which form the model writes calls.

    Args:
        facts: of the model.
        field: of the body that asks for it.

    Raises:
        UnsupportedOption: it has none, or one that is not known.
    """
    found = facts.chat.tools
    if found in FORMS and facts.capabilities.chat_template:
        return FORMS[found]
    why = "writes calls in a form that bakeoff does not read" if found else "has no place for tools"
    raise UnsupportedOption(
        f"{field}: the model's chat template {why}: take another model, or leave tools out",
        option=field,
    )


def calls_of(said: Sequence[CallBody]) -> tuple[ToolCall, ...]:
    """The calls of a turn that was."""
    return tuple(ToolCall(one.id, one.function.name, _arguments(one)) for one in said)


def _arguments(said: CallBody) -> str:
    found = said.function.arguments
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
