"""What begins a text, and whether it stands there twice."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.rendering import ASSISTANT, USER, render

WHAT = "begin of sequence"
_ADVICE = (
    "take one of them out of the chat template; bakeoff drops one itself, with other tools the "
    "model reads both"
)


def check(chart: Chart) -> Iterator[Finding]:
    """One line for a model that writes text."""
    if not chart.generates:
        return
    bos = chart.special.bos
    if bos is None:
        yield Finding("bos", "ok", WHAT, "none")
        return
    if bos >= chart.rows:
        value = f"the model has no token {bos}: its vocabulary ends at {chart.rows - 1}"
        advice = "name the right id as bos_token_id, or null"
        yield Finding("bos-beyond-vocabulary", "warning", WHAT, value, advice, {"id": bos})
        return
    by_tokenizer = _begins(chart, "a", True) > 0
    written = _written(chart, bos)
    data = {"id": bos, "by_tokenizer": by_tokenizer, "by_template": written}
    name = chart.names([bos])
    if written > 1:
        value = f"{name}; a rendered conversation begins with it {written} times"
        yield Finding("bos-twice", "problem", WHAT, value, _ADVICE, data)
        return
    value = f"{name}, {_who(by_tokenizer, written > 0)}"
    yield Finding("bos", "ok", WHAT, value, data=data)


def _who(by_tokenizer: bool, by_template: bool) -> str:
    if by_tokenizer and by_template:
        return (
            "by the tokenizer before plain text, by the template before a conversation "
            "(tokenised once: never doubled)"
        )
    if by_tokenizer or by_template:
        where = "tokenizer before plain text" if by_tokenizer else "template before a conversation"
        return f"by the {where}"
    return "put before nothing"


def _written(chart: Chart, bos: int) -> int:
    """How often a rendered conversation begins with it."""
    if not chart.chats:
        return 0
    rendered = [
        render(chart.tokenizer, USER, answer=True),
        render(chart.tokenizer, USER, ASSISTANT, USER, answer=True),
    ]
    return max(_begins(chart, one.text, False) for one in rendered)


def _begins(chart: Chart, text: str, special: bool) -> int:
    ids = chart.tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"]
    other = (at for at, token in enumerate(ids) if token != chart.special.bos)
    return next(other, len(ids))
