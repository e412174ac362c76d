"""Whether the chat template opens the assistant's turn."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.rendering import USER, render, shown

WHAT = "generation prompt"
_ADVICE = (
    "let the template write it where add_generation_prompt is true; bakeoff puts it behind the "
    "prompt itself, with other tools the model goes on with the user's turn"
)


def check(chart: Chart) -> Iterator[Finding]:
    """One line for a model with a chat template that works.

    A template without it is right where the answer follows the user's words at once, as in
    `[INST] ... [/INST] answer`.
    """
    if not chart.chats:
        return
    header = chart.rules.header
    if header:
        value = f"none, although an assistant's turn begins with {shown(header)}"
        data = {"text": "", "lacking": header}
        yield Finding("generation-prompt-missing", "problem", WHAT, value, _ADVICE, data)
        return
    asked, bare = render(chart.tokenizer, USER, answer=True), render(chart.tokenizer, USER)
    added = asked.text.removeprefix(bare.text)
    value = shown(added) if added else "none: the answer follows the user's turn at once"
    yield Finding("generation-prompt", "ok", WHAT, value, data={"text": added})
