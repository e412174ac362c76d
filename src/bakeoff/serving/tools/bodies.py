"""Tools as OpenAI's and Ollama's clients send them."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from bakeoff.serving.body import Body


class FunctionBody(Body):
    """A tool: what it is called, what it does, what it takes."""

    name: str = Field(pattern=r"^[a-zA-Z0-9_.:/-]{1,128}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolBody(Body):
    """An entry of `tools`."""

    type: Literal["function"] = "function"
    function: FunctionBody


class NamedFunction(Body):
    """The name of a tool."""

    name: str


class NamedTool(Body):
    """`tool_choice`: this tool and no other."""

    type: Literal["function"]
    function: NamedFunction


Choice = Literal["none", "auto", "required"] | NamedTool
"""`tool_choice`."""


class CalledFunction(Body):
    """What a call in a conversation calls; Ollama's clients send an object as arguments."""

    name: str
    arguments: str | dict[str, Any] = "{}"


class CallBody(Body):
    """An entry of a message's `tool_calls`."""

    refused: ClassVar[dict[str, Any]] = {"custom": (None,)}

    id: str = ""
    type: Literal["function"] = "function"
    function: CalledFunction
