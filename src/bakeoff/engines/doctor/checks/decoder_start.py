"""Which token an encoder-decoder's decoder reads first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding

WHAT = "decoder start"
WRONG = "decoder-start-wrong"
_USUAL = {
    **dict.fromkeys(
        ("t5", "mt5", "umt5", "longt5", "switch_transformers", "marian", "pegasus", "pegasus_x"),
        "pad_token_id",
    ),
    **dict.fromkeys(("bart", "m2m_100", "nllb-moe", "led", "mvp", "fsmt"), "eos_token_id"),
}
"""Family -> the special token that its published checkpoints start with."""


def check(chart: Chart) -> Iterator[Finding]:
    """One line for an encoder-decoder."""
    if chart.facts.capabilities.kind != "seq2seq":
        return
    start = chart.special.start
    if start is None:
        value = "neither decoder_start_token_id nor bos_token_id is said: nothing can be written"
        advice = "set decoder_start_token_id in generation_config.json"
        yield Finding("decoder-start-missing", "problem", WHAT, value, advice)
        return
    value = chart.names([start]) if start < chart.rows else str(start)
    usual = usual_start(chart)
    data = {"id": start, "usual": usual}
    if start >= chart.rows:
        value += f", but the model has {chart.rows} embeddings"
        yield Finding(WRONG, "problem", WHAT, value, _advice(chart, usual), data)
    elif usual is not None and start != usual:
        value += f"; published {chart.config.model_type} models start with {chart.names([usual])}"
        yield Finding(WRONG, "warning", WHAT, value, _advice(chart, usual), data)
    else:
        yield Finding("decoder-start", "ok", WHAT, value, data=data)


def usual_start(chart: Chart) -> int | None:
    """What the family starts with, or None where that is not known."""
    name = _USUAL.get(chart.config.model_type)
    found: Any = getattr(chart.config, name, None) if name else None
    return found if isinstance(found, int) else None


def _advice(chart: Chart, usual: int | None) -> str:
    wanted = "the token it was trained with" if usual is None else chart.names([usual])
    return (
        f"set decoder_start_token_id to {wanted} in config.json and generation_config.json, unless "
        "the model was trained otherwise; bakeoff starts with what they say"
    )
