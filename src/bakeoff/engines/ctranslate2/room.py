"""Whether a model fits into memory: its conversion, and while it is converted the model beside it.

Measured on models of 60 to 230 million parameters, over what Python and the libraries take:

- Loading takes a second copy of most of the weights for a moment: 1.6 to 1.9 times the file in
  float32, 1.1 to 1.7 times in fewer bits.
- Converting holds the model in float32, copies of what the library puts together (1.4 times the
  model), and what is written in fewer bits. The model is let go of before its conversion is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import ctranslate2

from bakeoff.core.errors import ModelError, OutOfMemory
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.engines.cache import entry_folder, published
from bakeoff.engines.checkpoint import read_json
from bakeoff.engines.contents import contents_of
from bakeoff.engines.ctranslate2.converted import FLOAT32, KIND, SOURCE, WEIGHTS, arithmetic, key
from bakeoff.engines.facts import find
from bakeoff.engines.footprint import (
    LEAST_TOKENS,
    LIBRARY,
    Choice,
    Footprint,
    Room,
    advice,
    estimate,
    size,
)
from bakeoff.engines.machine import available_memory, memory_ran_out
from bakeoff.engines.stock import DTYPE_BYTES, cache_bytes_per_token

_SIGNS = (
    "bad_alloc", "out of memory", "not enough memory", "cannot allocate", "can't allocate",
)  # fmt: skip
"""Of the library, and of torch while a model is converted."""
_BYTES = {**DTYPE_BYTES, "int16": 2}
"""Of a number; whatever else there is computes in 8 bits."""
_COPIED = {FLOAT32: 0.8}
_COPIED_REDUCED = 0.5
"""Of the weights, while they are loaded."""
_PUT_TOGETHER = 0.4
"""Of the model in float32, while it is converted."""


def check_room(facts: ModelFacts, room: Room | None = None) -> None:
    """Whether the model fits, before anything of it is loaded or fetched.

    Args:
        facts: what is known of the model.
        room: what there is; default: the CPU memory that is free.

    Raises:
        OutOfMemory: it does not; the message has the numbers and what would fit.
        ModelError: a weight file is damaged or cannot be found.
    """
    room = room or _room()
    found = needed(facts, room)
    if found is not None and not found.fits:
        raise OutOfMemory(_refusal(facts, found))


def out_of_memory(error: BaseException) -> bool:
    """Whether the library says that memory ran out."""
    return memory_ran_out(error, _SIGNS)


def ran_out(facts: ModelFacts) -> OutOfMemory:
    """The error where memory ran out all the same."""
    found = needed(facts, _room())
    if found is None:
        return OutOfMemory(f"memory ran out while {facts.ref.uri} was loaded by ctranslate2")
    return OutOfMemory(f"memory ran out: {_refusal(facts, found)}")


def needed(facts: ModelFacts, room: Room) -> Footprint | None:
    """What the model takes, or None where nothing says how large its weights are.

    Raises:
        ModelError: a weight file is damaged or cannot be found.
    """
    sizes = _sizes(facts)
    if sizes is None:
        return None
    return Footprint(
        weights_bytes=sizes.converted,
        cache_bytes_per_token=sizes.per_token,
        cache_tokens=LEAST_TOKENS,
        beside_bytes=sizes.beside(arithmetic(facts)),
        room=room,
        choices=() if sizes.fit(arithmetic(facts), room.free) else tuple(_choices(facts, room)),
    )


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Bytes of a model.

    Attributes:
        converted: its weights as the library holds them.
        per_token: keys and values of one token.
        model: its weights in float32; 0 where a conversion is in the cache.
    """

    converted: int
    per_token: int
    model: int = 0

    def beside(self, said: str) -> int:
        """What is held beside the converted weights, at the worst moment."""
        copied = int(self.converted * _COPIED.get(said, _COPIED_REDUCED))
        together = int(self.model * (1 + _PUT_TOGETHER))
        # in float32 the library writes the very numbers that the model holds
        converting = together - self.converted if said == FLOAT32 else together
        return max(copied, converting) + LIBRARY

    def total(self, said: str) -> int:
        """All of it, with the cache of the smallest batch."""
        return self.converted + self.beside(said) + self.per_token * LEAST_TOKENS

    def fit(self, said: str, free: int) -> bool:
        """Whether so much memory is enough."""
        return self.total(said) <= free


def _sizes(facts: ModelFacts) -> _Sizes | None:
    if published(KIND, key(facts)):
        entry = entry_folder(KIND, key(facts))
        shape: dict[str, Any] = read_json(facts.ref.uri, entry / SOURCE / "config.json") or {}
        return _Sizes((entry / WEIGHTS).stat().st_size, cache_bytes_per_token(shape, 4))
    found = contents_of(facts.ref, find(facts.ref))
    if found.stock is None:
        return None
    numbers = found.stock.numbers
    converted = numbers * _BYTES.get(arithmetic(facts), 1)
    return _Sizes(converted, cache_bytes_per_token(found.shape, 4), 4 * numbers)


def _choices(facts: ModelFacts, room: Room) -> Iterator[Choice]:
    """What else could be done; nothing, where the model itself is not there any more."""
    try:
        yield from _reduced(facts, room)
        ref = facts.ref.model_copy(update={"engine": "transformers", "compute_type": None})
        plain = estimate(replace(facts, ref=ref), room)
    except ModelError:  # its conversion in the cache outlives it
        return
    yield Choice("`engine: transformers`", plain.total_bytes, plain.fits)
    for choice in plain.choices:
        names_an_option = choice.write.startswith("`")
        said = f"`engine: transformers` with {choice.write}" if names_an_option else choice.write
        yield replace(choice, write=said)


def _reduced(facts: ModelFacts, room: Room) -> Iterator[Choice]:
    if arithmetic(facts).startswith("int8") or not _has_int8():
        return
    said = facts.ref.model_copy(update={"compute_type": "int8"})
    sizes = _sizes(replace(facts, ref=said))
    if sizes is not None:
        fits = sizes.fit("int8", room.free)
        yield Choice("`compute_type: int8`", sizes.total("int8"), fits, "with other texts")


def _has_int8() -> bool:
    return "int8" in ctranslate2.get_supported_compute_types("cpu")


def _refusal(facts: ModelFacts, found: Footprint) -> str:
    first = not published(KIND, key(facts))
    doing = "be converted and loaded" if first else "be loaded"
    return (
        f"{facts.ref.uri} takes {found} to {doing} by ctranslate2 in {arithmetic(facts)} and "
        f"{size(found.room.free)} are free on cpu: {advice(found)}"
    )


def _room() -> Room:
    free = available_memory()
    return Room("cpu", free, free)
