"""Memory that a model takes, before it is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.core.errors import BakeoffError
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.engines.doctor.diagnosis import Finding
from bakeoff.engines.footprint import advice, estimate, size
from bakeoff.engines.transformers.devices import place, room

WHAT = "memory"


def check(facts: ModelFacts) -> Iterator[Finding]:
    """One line for a Hub or local model."""
    if facts.ref.scheme not in ("hf", "file"):
        return
    try:
        found = estimate(facts, room(place(facts.ref)))
    except BakeoffError as error:
        yield Finding("memory", "ok", WHAT, f"unknown: {error.message}")
        return
    if not found.weights_bytes:
        yield Finding("memory", "ok", WHAT, "unknown: nothing says how large the weights are")
        return
    value = f"{found}; {size(found.room.free)} free on {found.room.device}"
    data = {
        "total_bytes": found.total_bytes,
        "weights_bytes": found.weights_bytes,
        "cache_bytes_per_token": found.cache_bytes_per_token,
        "free_bytes": found.room.free,
        "device": found.room.device,
    }
    if found.fits:
        yield Finding("memory", "ok", WHAT, value, data=data)
    else:
        yield Finding("memory-too-small", "problem", WHAT, value, advice(found), data)
