"""Whether all weights are numbers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain

CODE = "weights-not-finite"
_NAMED = 3
_ADVICE = (
    "convert the original weights again through float32 or bfloat16: what float16 cannot hold "
    "(above 65,504) becomes infinite"
)


def check(plain: Plain) -> Iterator[Finding]:
    """One line."""
    wrong = {
        name: int((~torch.isfinite(weight)).sum())
        for name, weight in plain.model.named_parameters()
        if weight.is_floating_point()
        and weight.device.type != "meta"  # it lies on the disk
        and not bool(torch.isfinite(weight).all())
    }
    if not wrong:
        yield Finding("weights", "ok", "weights", "all finite")
        return
    names = ", ".join(list(wrong)[:_NAMED])
    more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
    value = f"{sum(wrong.values())} are infinite or NaN, in {names}{more}"
    yield Finding(CODE, "problem", "weights", value, _ADVICE, {"tensors": wrong})
