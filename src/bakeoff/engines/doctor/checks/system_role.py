"""What the chat template does with a system message."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.rendering import SYSTEM, USER, render

WHAT = "system role"
_INSTEAD = "bakeoff puts a system prompt before the user's words"
_ADVICE = f"do not count on it: other tools lose a system message here; {_INSTEAD}"


def check(chart: Chart) -> Iterator[Finding]:
    """One line for a model with a chat template that works."""
    if not chart.chats:
        return
    data = {"supported": chart.rules.system}
    if chart.rules.system:
        yield Finding("system-role", "ok", WHAT, "supported", data=data)
        return
    said = render(chart.tokenizer, SYSTEM, USER, answer=True)
    if said.refused:
        value = f"not supported, the template refuses it ({said.refused}); {_INSTEAD}"
        yield Finding("system-role", "ok", WHAT, value, data=data)
    else:
        value = "a system message is left out without a word"
        yield Finding("system-role-dropped", "warning", WHAT, value, _ADVICE, data)
