"""Rotary positions: their base, who names it, and whether it goes with the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bakeoff.engines.doctor.chart import Chart
from bakeoff.engines.doctor.diagnosis import Finding

WHAT = "rotary positions"
MISSING, DOUBTFUL = "rope-base-missing", "rope-base-doubtful"
_KEYS = ("rope_theta", "rotary_emb_base", "rotary_base", "rope_base", "global_rope_theta")
_PLACES = ("rope_parameters", "rope_scaling")
_ALWAYS_WRITTEN = (4, 33)
"""Since this version of transformers a saved configuration always names the base."""
_LONG = 4096
"""The longest window that models had before a base could be named."""
_TOO_LONG = 16_384
_OLD_BASE = 10_000.0
_FAMILIES = {("llama", 32_016): 1e6, ("llama", 128_256): 5e5}
"""Family and size of the vocabulary -> base: Code Llama, Llama 3."""
_ADVICE = (
    "put rope_theta (rope_parameters in newer files) back into config.json, as the original "
    "checkpoint has it; bakeoff takes what transformers takes"
)


def check(chart: Chart) -> Iterator[Finding]:
    """One line."""
    rope = getattr(chart.text_config, "rope_parameters", None)
    if not rope:
        yield Finding("rope", "ok", WHAT, "none in the configuration")
        return
    window = getattr(chart.text_config, "max_position_embeddings", None)
    data = {"parameters": rope, "named": _named(chart.said), "window": window}
    value = "; ".join(_described(rope)) + (f", window {window}" if window else "")
    if not data["named"]:
        value = f"{value}; config.json names no base"
        reason = _cannot_do_without(chart, window)
        if reason:
            value = f"{value}, {reason}"
            yield Finding(MISSING, "problem", WHAT, value, _ADVICE, data)
            return
        value += ": the default, as models had it then"
    doubt = _doubt(chart, rope, window)
    if doubt:
        yield Finding(DOUBTFUL, "warning", WHAT, f"{value}; {doubt}", _ADVICE, data)
    else:
        yield Finding("rope", "ok", WHAT, value, data=data)


def base_of(rope: Mapping[str, Any]) -> float | None:
    """The one base of plain rotary positions; None where they are scaled or differ by layer."""
    base = rope.get("rope_theta")
    plain = rope.get("rope_type", "default") == "default"
    return float(base) if plain and isinstance(base, (int, float)) else None


def _described(rope: Mapping[str, Any]) -> Iterator[str]:
    """Base and kind, for each kind of layer where they differ."""
    inner = {name: part for name, part in rope.items() if isinstance(part, dict)}
    for name, part in inner.items() or {"": rope}.items():
        base = part.get("rope_theta")
        shown = f"{base:,.0f}" if isinstance(base, (int, float)) else str(base)
        kind = part.get("rope_type", "default")
        scaled = "" if kind == "default" else f", scaled ({kind})"
        yield f"{f'{name}: ' if name else ''}base {shown}{scaled}"


def _named(said: Mapping[str, Any]) -> bool:
    return any(said.get(key) is not None for key in _KEYS) or any(
        _holds(said.get(place)) for place in _PLACES
    )


def _holds(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    return part.get("rope_theta") is not None or any(map(_holds, part.values()))


def _cannot_do_without(chart: Chart, window: int | None) -> str:
    """Why the default cannot be meant, or empty."""
    written = str(chart.checkpoint.config.get("transformers_version", ""))
    version = tuple(int(part) for part in re.findall(r"\d+", written)[:2])
    if version >= _ALWAYS_WRITTEN:
        return f"which transformers {written} always writes"
    if window and window > _LONG:
        return "which a window of that length needs"
    if _expected(chart) is not None:
        return f"which is {_expected(chart):,.0f} for models of this family and vocabulary"
    return ""


def _expected(chart: Chart) -> float | None:
    config = chart.text_config
    return _FAMILIES.get((config.model_type, getattr(config, "vocab_size", 0)))


def _doubt(chart: Chart, rope: Mapping[str, Any], window: int | None) -> str:
    """Why a named base is hardly right, or empty."""
    base, expected = rope.get("rope_theta"), _expected(chart)
    if expected is not None and base != expected:
        return f"models of this family and vocabulary have {expected:,.0f}"
    slides = getattr(chart.text_config, "sliding_window", None)
    if base_of(rope) == _OLD_BASE and window and window > _TOO_LONG and not slides:
        return "a window of that length is trained with a larger one"
    return ""
