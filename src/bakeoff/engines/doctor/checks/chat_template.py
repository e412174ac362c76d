"""Whether there is a chat template, and whether it renders a conversation."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding

WHAT = "chat template"
_CODE = "chat-template-fails"
_FAILS = "correct the template: a conversation cannot be put to the model, plain text can"
_SILENT = "check by hand how the model ends its turn: bakeoff learns that from these two turns"


def check(chart: Chart) -> Iterator[Finding]:
    """One line for a model that writes text."""
    if not chart.generates:
        return
    rules, data = chart.rules, {"has": bool(chart.tokenizer.chat_template)}
    if not data["has"]:
        value = "none: prompts go in as plain text"
        yield Finding("chat-template", "ok", WHAT, value, data=data)
    elif rules.error:
        value = f"it renders no user's turn: {rules.error}"
        yield Finding(_CODE, "problem", WHAT, value, _FAILS, data)
    elif rules.silent:
        value = f"it refuses a user's and an assistant's turn: {rules.silent}"
        yield Finding(_CODE, "warning", WHAT, value, _SILENT, data)
    else:
        parts = ", content as a list of parts" if rules.parts else ""
        yield Finding("chat-template", "ok", WHAT, f"renders a conversation{parts}", data=data)
