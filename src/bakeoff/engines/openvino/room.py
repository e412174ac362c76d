"""Whether a model fits into memory: its export, and while it is exported the model in float32."""

from __future__ import annotations

from typing import Any

from bakeoff.core.errors import OutOfMemory
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.engines.checkpoint import read_json
from bakeoff.engines.contents import contents_of
from bakeoff.engines.facts import find
from bakeoff.engines.footprint import LEAST_TOKENS, size
from bakeoff.engines.machine import available_memory
from bakeoff.engines.openvino.converted import SOURCE, WEIGHTS, entry_of, is_converted
from bakeoff.engines.stock import cache_bytes_per_token

LIBRARY = 300 << 20
"""Bytes that the process takes whatever the model."""
_HELD = 2.0
"""Of the weights: they are held in the library's own order beside the file that is mapped."""
_EXPORTING = 3.0
"""Of the float32 weights, while the exporter traces the model and writes it."""


def check_room(facts: ModelFacts) -> None:
    """Refuse a model that cannot fit.

    Raises:
        OutOfMemory: it does not; the message has the numbers.
        ModelError: a weight file is damaged or cannot be found.
    """
    needed, doing = _needed(facts)
    free = available_memory()
    if needed > free:
        raise OutOfMemory(
            f"{facts.ref.uri} takes {size(needed)} to be {doing} by openvino in float32 and "
            f"{size(free)} are free on cpu: leave `engine: auto`, which takes another engine"
        )


def _needed(facts: ModelFacts) -> tuple[int, str]:
    """Bytes, and what they are needed for; none where nothing says how large the weights are."""
    if is_converted(facts):
        entry = entry_of(facts)
        shape: dict[str, Any] = read_json(facts.ref.uri, entry / SOURCE / "config.json") or {}
        weights = (entry / WEIGHTS).stat().st_size
        cache = cache_bytes_per_token(shape, 4) * LEAST_TOKENS
        return int(weights * _HELD) + cache + LIBRARY, "loaded"
    found = contents_of(facts.ref, find(facts.ref))
    if found.stock is None:
        return 0, "exported"
    return int(4 * found.stock.numbers * _EXPORTING) + LIBRARY, "exported"
