"""Whether the model ends its turn with a marker that nothing takes for an end."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.checks.ends import ADVICE, MISSING, WHAT
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain
from bakeoff.engines.doctor.probes import SHORT

_TOKENS = 128
"""Room in which a short question is answered."""


def check(plain: Plain) -> Iterator[Finding]:
    """A finding where a text of the model's ends with it; plain transformers would go on."""
    if not plain.chart.chats:
        return
    special = plain.special
    missing = special.turn_end - special.end
    if not missing or not any(_written(plain, text, missing) for text in SHORT):
        return
    name = plain.chart.names(missing)
    value = f"the model ends its turn with {name}, where plain transformers lets it run on"
    yield Finding(MISSING, "problem", WHAT, value, ADVICE, {"turn_end": sorted(missing)})


def _written(plain: Plain, text: str, ends: frozenset[int]) -> bool:
    ids = plain.reading.reader.read(plain.prompt(text, room=_TOKENS)).ids
    made, _ = plain.generate(ids, _TOKENS, eos_token_id=sorted(ends | plain.special.end))
    return bool(made) and made[-1] in ends
