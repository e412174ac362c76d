"""Whether bakeoff reads prompts as the tokens that the library makes of them."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain

WHAT = "prompts"


def check(plain: Plain) -> Iterator[Finding]:
    """One line for a model that writes text."""
    if not plain.texts:
        return
    other = sum(not text.usual for text in plain.texts)
    rules = plain.chart.rules
    if not other:
        value = f"{len(plain.texts)} of {len(plain.texts)} read as the library reads them"
        yield Finding("prompts", "ok", WHAT, value)
    elif rules.notices or rules.parts or rules.opens:
        value = "read otherwise than by the library, to work around the chat template"
        yield Finding("prompts", "ok", WHAT, value)
    else:
        value = f"{other} of {len(plain.texts)} are read as other tokens than by the library"
        advice = "compare Engine.encode with the tokenizer, and report it: it is a fault of bakeoff"
        yield Finding("prompt-differs", "problem", WHAT, value, advice)
