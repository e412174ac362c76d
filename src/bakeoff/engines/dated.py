"""Chat templates that write today's date into each prompt: the date is pinned and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime

from bakeoff.core.ports import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.identity import part_of, with_part

_PART = "date"
_ASKS = "strftime_now"
"""The function that transformers offers to chat templates."""


def dated(facts: ModelFacts, template: str) -> ModelFacts:
    """The facts with today's date (UTC) in the identity, where the chat template reads the clock.

    Rows of another day were asked something else, so their keys must differ.
    """
    if not facts.capabilities.chat_template or _ASKS not in template:
        return facts
    day = datetime.now(UTC).date().isoformat()
    text = (
        f"the chat template of {facts.ref.uri} writes the date into each prompt: {day} (UTC) is "
        "used, and rows of another day are made anew"
    )
    return replace(
        facts,
        identity=with_part(facts.identity, _PART, day),
        notices=(*facts.notices, Notice("dated-chat-template", text)),
    )


def clock(facts: ModelFacts) -> dict[str, Callable[[str], str]]:
    """What stands in for the clock when the chat template is filled in; empty without a date."""
    day = part_of(facts.identity, _PART)
    return {} if day is None else {_ASKS: date.fromisoformat(day).strftime}
