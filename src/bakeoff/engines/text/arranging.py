"""Turns of a conversation, moved and joined as a chat template needs them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from bakeoff.core.requests import Message, ToolCall

_BLANK = "\n\n"


def folded(turns: Sequence[Message]) -> list[Message]:
    """Each system prompt at the head of the user's turn that follows it."""
    made: list[Message] = []
    waiting: list[str] = []
    for turn in turns:
        if turn.role == "system":
            waiting += [turn.content] if turn.content else []
        elif turn.role == "user":
            made.append(replace(turn, content=_BLANK.join([*waiting, turn.content])))
            waiting = []
        else:
            made.append(turn)
    return [*made, Message("user", _BLANK.join(waiting))] if waiting else made


def joined(turns: Sequence[Message]) -> list[Message]:
    """Neighbours of one role in one turn; calls of tools and their results stay apart."""
    made: list[Message] = []
    for (role, alone), group in groupby(turns, key=_kin):
        members = list(group)
        if alone:
            made += members
        else:
            made.append(Message(role, _BLANK.join(turn.content for turn in members)))
    return made


def _kin(turn: Message) -> tuple[str, bool]:
    return turn.role, turn.role == "tool" or bool(turn.tool_calls)


def turn_of(message: Message, content: Any) -> dict[str, Any]:
    """A turn as chat templates read it."""
    turn: dict[str, Any] = {"role": message.role, "content": content}
    if message.tool_calls:
        turn["tool_calls"] = [_call(one) for one in message.tool_calls]
    if message.tool_call_id:
        turn["tool_call_id"] = message.tool_call_id
    if message.name:
        turn["name"] = message.name
    return turn


def _call(call: ToolCall) -> dict[str, Any]:
    """Templates write arguments as JSON themselves: they want the object, not its text."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = call.arguments
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}
