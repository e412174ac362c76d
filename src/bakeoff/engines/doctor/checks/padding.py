"""What fills up a batch, and whether it can be told from the text."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.rendering import ASSISTANT, USER, render

_ADVICE = (
    "give the tokenizer a padding token of its own; bakeoff masks by position and reads the prompt "
    "rightly, tools that make the mask from the padding's id hide these tokens, and training so "
    "never learns to end"
)


def check(chart: Chart) -> Iterator[Finding]:
    """One line for a model that writes text."""
    if not chart.generates:
        return
    pad = chart.tokenizer.pad_token_id
    if pad is None:
        yield Finding("padding", "ok", "padding", "none named; bakeoff masks what it pads with")
        return
    ends = chart.special.end | chart.special.turn_end
    value = chart.names([pad])
    if pad in ends and pad in _prompts(chart):
        value += ", which is an end marker too and stands inside prompts"
        yield Finding("pad-is-end", "warning", "padding", value, _ADVICE, {"id": pad})
        return
    value += ", the end marker too, but never inside a prompt" if pad in ends else ""
    yield Finding("padding", "ok", "padding", value, data={"id": pad})


def _prompts(chart: Chart) -> set[int]:
    """Tokens of a plain text and of a conversation of three turns."""
    tokens = set(chart.tokenizer(USER[1], verbose=False)["input_ids"])
    if chart.chats:
        text = render(chart.tokenizer, USER, ASSISTANT, USER, answer=True).text
        tokens |= set(chart.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
    return tokens
