"""Whether the chat template writes the word None where there is no system message."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding

_CODE = "template-prints-none"
_DONE = "; bakeoff gives it an empty system message, which other tools do not"
_NOT_DONE = "; bakeoff cannot help it: give a system message with every request"


def check(chart: Chart) -> Iterator[Finding]:
    """A finding only where it does."""
    if chart.chats and any(notice.code == _CODE for notice in chart.rules.notices):
        value = "it writes the word None into a prompt without a system message"
        advice = "let the template write that part only where there is a system message"
        advice += _DONE if chart.rules.opens else _NOT_DONE
        yield Finding(_CODE, "problem", "chat template", value, advice)
