"""Calls of tools as OpenAI's clients read them: in a message, and piece by piece. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.serving.limits import Limits
from bakeoff.serving.openai.bodies import ChatBody
from bakeoff.serving.openai.formats import Wanted
from bakeoff.serving.tools.choosing import Tools, tools_of
from bakeoff.serving.tools.reading import CallBegins, Reader, Said, Words


@dataclass
class Calls:
    """Reads the texts of one request.

    Attributes:
        tools: that the request has.
    """

    tools: Tools
    _readers: dict[int, Reader] = field(default_factory=dict)

    def deltas(self, index: int, text: str, *, ended: bool) -> list[dict[str, Any]]:
        """What is new in the text of that index: words, and calls.

        Args:
            index: of the text.
            text: the next piece.
            ended: whether it is the last.
        """
        reader = self._readers.setdefault(index, self.tools.reader())
        said = reader.feed(text)
        if ended:
            said += reader.end()
        return [self._delta(one) for one in said]

    def _delta(self, said: Said) -> dict[str, Any]:
        if isinstance(said, Words):
            return {"content": said.text}
        entry: dict[str, Any] = {"index": said.index}
        if isinstance(said, CallBegins):
            entry |= {"id": self.tools.new_id(), "type": "function"}
            entry["function"] = {"name": said.name, "arguments": ""}
        else:
            entry["function"] = {"arguments": said.text}
        return {"tool_calls": [entry]}

    def called(self, index: int) -> bool:
        """Whether the text of that index has called so far."""
        return index in self._readers and self._readers[index].calls > 0

    def message(self, text: str) -> dict[str, Any]:
        """The content and the calls of a whole text; content without a word is null then."""
        reader = self.tools.reader()
        words, calls = read_whole(reader, text)
        if not calls:
            return {"content": words}
        found = [
            {
                "id": self.tools.new_id(),
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for name, arguments in calls
        ]
        return {"content": words if words.strip() else None, "tool_calls": found}


def calls_in(body: ChatBody, facts: ModelFacts, limits: Limits) -> Calls | None:
    """What reads the calls of an answer; None where the model is not to call any.

    Raises:
        CallerError: see `tools_of`.
    """
    several = body.parallel_tool_calls
    tools = tools_of(body.tools, body.tool_choice, facts, limits)
    if tools is None:
        return None
    return Calls(replace(tools, several=False) if several is False else tools)


def wanted_of(body: ChatBody, calls: Calls | None) -> Wanted | None:
    """How an answer has to look, by its format and by the tools that it has to call.

    Raises:
        CallerError: see `ChatBody.wanted` and `Tools.grammar`.
    """
    said = body.wanted()
    if calls is None:
        return said
    if said is None:
        grammar = calls.tools.grammar()
        return None if grammar is None else Wanted(grammar, "tools")
    return Wanted(calls.tools.grammar_beside(said.grammar, said.field), said.field)


def read_whole(reader: Reader, text: str) -> tuple[str, list[tuple[str, str]]]:
    """The words of a whole text, and its calls: names and arguments."""
    return read_on(reader, text, ended=True)


def read_on(reader: Reader, text: str, *, ended: bool) -> tuple[str, list[tuple[str, str]]]:
    """The same of a piece; for readers that tell a call when it is complete."""
    words, calls = "", list[tuple[str, str]]()
    for one in (*reader.feed(text), *(reader.end() if ended else ())):
        if isinstance(one, Words):
            words += one.text
        elif isinstance(one, CallBegins):
            calls.append((one.name, ""))
        else:
            name, before = calls[-1]
            calls[-1] = (name, before + one.text)
    return words, calls
