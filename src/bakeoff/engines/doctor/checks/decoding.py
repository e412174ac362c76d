"""Which way the transformers engine writes this model's texts."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain
from bakeoff.engines.transformers.stepping.building import drives

WHAT = "decoding"


def check(plain: Plain) -> Iterator[Finding]:
    """One line for a model that writes text."""
    if not plain.chart.generates:
        return
    loop = drives(plain.loaded, plain.special.pad)
    value = "token by token: texts join and leave at any step (beams: by the library's generate)"
    if not loop:
        value = (
            "by the library's generate, a batch at a time: texts wait for the longest of their "
            "batch, and follow no grammar"
        )
    yield Finding("decoding", "ok", WHAT, value, data={"loop": loop})
