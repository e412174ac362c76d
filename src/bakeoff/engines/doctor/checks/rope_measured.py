"""Whether ordinary text is likelier under another base of the rotary positions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import log
from typing import Any

from bakeoff.engines.doctor.checks.rope import DOUBTFUL, MISSING, WHAT, base_of
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.doctor.plain import Plain
from bakeoff.engines.doctor.probes import PROSE

_BASES = (1e4, 1e5, 5e5, 1e6, 1e7)
_MARGIN = 0.015
"""How much lower the loss must be, as a share. SmolLM2 (base 100,000): 0.8 % higher at 500,000,
1.8 % at 1,000,000, 3.3 % at 10,000, and never lower."""
_UNDERSTOOD = 0.75
"""A loss above this share of that of guessing: the model does not know such text."""
_ADVICE = (
    "put the original base into config.json as rope_theta (rope_parameters in newer files); "
    "bakeoff takes what transformers takes"
)


def check(plain: Plain) -> Iterator[Finding]:
    """A finding where another base fits clearly better."""
    rope = getattr(plain.model.config.get_text_config(), "rope_parameters", None) or {}
    base = base_of(rope)
    if plain.chart.facts.capabilities.kind != "causal" or base is None:
        return
    ids = plain.ids(PROSE)
    losses = losses_by_base(plain, ids, base)
    best = min(losses, key=lambda one: losses[one])
    guessing = log(plain.chart.rows)
    if losses[base] - losses[best] <= _MARGIN * losses[base]:
        return
    if losses[best] > _UNDERSTOOD * guessing:
        return
    named = any(plain.chart.said.get(key) for key in ("rope_theta", "rope_parameters"))
    value = (
        f"base {base:,.0f}: English text has a loss of {losses[base]:.2f} a token, and of "
        f"{losses[best]:.2f} with {best:,.0f}"
    )
    data = {"losses": {f"{one:.0f}": loss for one, loss in losses.items()}}
    yield Finding(DOUBTFUL if named else MISSING, "problem", WHAT, value, _ADVICE, data)


def losses_by_base(plain: Plain, ids: list[int], base: float) -> dict[float, float]:
    """Base -> mean loss of a text's tokens, the model's own base among them."""
    found = {}
    for one in sorted({base, *_BASES}):
        with _turned(plain.model, log(one) / log(base)):
            found[one] = plain.loss(ids)
    return found


@contextmanager
def _turned(model: Any, power: float) -> Iterator[None]:
    """The model with another base: a table of base ** -x becomes one of base ** (-x * power)."""
    tables = [module for module in model.modules() if hasattr(module, "inv_freq")]
    kept = [module.inv_freq.clone() for module in tables]
    for module, table in zip(tables, kept, strict=True):
        module.inv_freq.copy_(table**power)
    try:
        yield
    finally:
        for module, table in zip(tables, kept, strict=True):
            module.inv_freq.copy_(table)
