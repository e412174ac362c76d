"""Whether the decoder is surer of itself when it starts as its family does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bakeoff.engines.doctor.checks.decoder_start import WRONG, usual_start
from bakeoff.engines.doctor.checks.decoder_start import check as by_family
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain
from bakeoff.engines.doctor.probes import SHORT

_LESS = 0.9
"""Share of the doubt (mean negative log-probability of its own greedy text) that may be left: a
model is surest of itself when it starts as in training."""


def check(plain: Plain) -> Iterator[Finding]:
    """The finding of the files, made a problem where the model itself bears it out."""
    if plain.chart.facts.capabilities.kind != "seq2seq":
        return
    usual, start = usual_start(plain.chart), plain.special.start
    if start is None or usual is None or usual == start or start >= plain.chart.rows:
        return
    doubt = {one: plain.doubt(SHORT, start=one) for one in (start, usual)}
    if doubt[usual] > _LESS * doubt[start]:
        return
    said = (
        f"; so started it is surer of what it writes ({doubt[usual]:.2f} instead of "
        f"{doubt[start]:.2f} nats a token)"
    )
    for one in by_family(plain.chart):
        if one.code == WRONG:
            yield replace(one, level="problem", value=one.value + said)
