"""Chat templates that write today's date into each prompt: the date is pinned and shown."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.identity import part_of, with_part

_PART = "date"
_ASKS = "strftime_now"
"""The function that transformers offers to chat templates."""
_CALL = re.compile(_ASKS + r"""\(\s*(?P<quote>['"])(?P<format>[^'"\\]*)(?P=quote)\s*\)""")


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


def on_its_day(template: Any, facts: ModelFacts) -> Any:
    """The chat template with the date of the identity in place of a look at the clock.

    The library hands nothing callable to a template, so the calls are written out. A format that
    is not written down in the call is left to the clock.
    """
    day = part_of(facts.identity, _PART)
    if day is None or not isinstance(template, str):
        return template
    then = date.fromisoformat(day)
    return _CALL.sub(lambda call: repr(then.strftime(call["format"])), template)
