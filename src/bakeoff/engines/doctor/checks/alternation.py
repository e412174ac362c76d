"""Whether the chat template demands that user and assistant take turns."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding


def check(chart: Chart) -> Iterator[Finding]:
    """One line for a model with a chat template that works."""
    if not chart.chats:
        return
    demanded = chart.rules.alternates
    value = (
        "user and assistant must alternate; bakeoff joins neighbours of one role"
        if demanded
        else "roles need not alternate"
    )
    yield Finding("alternation", "ok", "order of turns", value, data={"demanded": demanded})
