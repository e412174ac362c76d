"""What a model takes in memory, before it is loaded; and what would fit where it does not.

Torch-free: the numbers come from the headers of safetensors and GGUF files, or, for weights that
are still on the Hub, from the sizes that it lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.core.errors import OutOfMemory
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.engines.cache import published
from bakeoff.engines.contents import contents_of
from bakeoff.engines.facts import Source, find
from bakeoff.engines.gguf import KIND, conversion_key
from bakeoff.engines.machine import available_memory
from bakeoff.engines.precision import quantised_with
from bakeoff.engines.stock import DTYPE_BYTES, Stock, cache_bytes_per_token

LEAST_TOKENS = 1_024
"""The smallest batch that an engine plans: rows times the longest, prompt and answer."""
_BESIDE = 0.1
"""Of the weights: what is held beside them while they are loaded and used (measured: 0.05 to 0.2
on models of 135 million parameters, less on larger ones)."""
LIBRARY = 64 << 20
"""Bytes that the library takes whatever the model."""
GGUF_WORK = 0.2
"""Of the float32 weights, while a GGUF file is converted: a tensor more, the library's tables."""
_NF4 = 0.5 + 4 / 64  # bytes of a number: a half, and a float32 for each block of 64
_Q4_K_M = 4.85 / 8  # bytes of a number in the usual 4-bit GGUF file
_SHARE = 4
"""The cache of a batch may take one part in this many of the memory that is free."""


@dataclass(frozen=True, slots=True)
class Room:
    """What the place of a model has to give.

    Attributes:
        device: `cpu`, `cuda` or `mps`.
        free: bytes there; of all devices and of the CPU together where the parts are spread.
        host: bytes of CPU memory.
        spread: whether `device_map` places the parts.
    """

    device: str
    free: int
    host: int
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """Another way to run the model.

    Attributes:
        write: what a spec says for it, or what to do.
        total_bytes: what it takes.
        fits: whether that is free.
        note: what it costs; empty where it costs nothing.
    """

    write: str
    total_bytes: int
    fits: bool
    note: str = ""

    def __str__(self) -> str:
        note = f", {self.note}" if self.note else ""
        return f"{self.write} ({size(self.total_bytes)}{note})"


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a model takes in memory as its reference asks for it.

    Attributes:
        weights_bytes: as loaded, in the precision or quantisation asked; 0 where neither headers
            nor sizes are at hand.
        cache_bytes_per_token: keys and values of one token; 0 for an encoder.
        cache_tokens: tokens of the smallest batch.
        beside_bytes: what is held beside the weights while they are loaded and used.
        room: what there is.
        spills: whether what does not fit in memory is left on disk.
        choices: what else could be done, with numbers, best text first; those that are worse than
            what is asked are left out.
    """

    weights_bytes: int
    cache_bytes_per_token: int
    cache_tokens: int
    beside_bytes: int
    room: Room
    spills: bool = False
    choices: tuple[Choice, ...] = ()

    @property
    def cache_bytes(self) -> int:
        """The cache of the smallest batch."""
        return self.cache_bytes_per_token * self.cache_tokens

    @property
    def total_bytes(self) -> int:
        """The least that is needed."""
        return self.weights_bytes + self.cache_bytes + self.beside_bytes

    @property
    def fits(self) -> bool:
        """Whether that much is free, as far as it is known; `max_memory` is for weights alone."""
        needed = self.weights_bytes if self.room.spread else self.total_bytes
        return self.spills or not self.weights_bytes or needed <= self.room.free

    def __str__(self) -> str:
        cache = f", {size(self.cache_bytes)} a batch of {self.cache_tokens:,} tokens"
        return (
            f"{size(self.total_bytes)} ({size(self.weights_bytes)} the weights"
            f"{cache if self.cache_bytes else ''}, {size(self.beside_bytes)} beside them)"
        )


def estimate(
    facts: ModelFacts, room: Room | None = None, source: Source | None = None
) -> Footprint:
    """What a Hub or local model takes, and what else would fit.

    Args:
        facts: what is known of the model.
        room: what there is; default: this machine's CPU memory.
        source: the checkpoint where it was found already.

    Raises:
        ModelError: a weight file is damaged or cannot be found.
    """
    free = available_memory()
    room = room or Room("cpu", free, free)
    source = source or find(facts.ref)
    return _Estimate.of(facts, room, source).footprint()


def check_fits(facts: ModelFacts, room: Room, source: Source | None = None) -> Footprint:
    """The footprint of a model that fits.

    Raises:
        OutOfMemory: it does not; the message has the numbers and what would fit.
    """
    found = estimate(facts, room, source)
    if not found.fits:
        where = "in all places together" if room.spread else f"on {room.device}"
        raise OutOfMemory(
            f"{facts.ref.uri} takes {found} and {size(room.free)} are free {where}: {advice(found)}"
        )
    return found


def advice(found: Footprint) -> str:
    """What would fit, in words."""
    fitting = [str(choice) for choice in found.choices if choice.fits]
    if not fitting:
        return "nothing that bakeoff knows would fit: take a smaller model or more memory"
    *most, last = fitting
    return "what would fit: " + (f"{', '.join(most)} or {last}" if most else last)


def size(count: float) -> str:
    """Bytes for people."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"


def share_of(free: int, each: int) -> int:
    """How many things of this many bytes a batch may hold where so much memory is free."""
    return free // _SHARE // each


def tokens_of_a_batch(free: int, each: int, most: int) -> int:
    """Tokens whose cache a batch may hold; at least the smallest batch.

    Args:
        free: bytes of memory.
        each: bytes of one token's cache.
        most: more than this do not pay.
    """
    return max(LEAST_TOKENS, min(most, share_of(free, each)))


@dataclass(frozen=True)
class _Estimate:
    """One model with what was found of it."""

    facts: ModelFacts
    room: Room
    stock: Stock | None
    shape: dict[str, Any]
    gguf: Path | None = None

    @classmethod
    def of(cls, facts: ModelFacts, room: Room, source: Source) -> _Estimate:
        found = contents_of(facts.ref, source)
        return cls(facts, room, found.stock, found.shape, found.gguf)

    def footprint(self) -> Footprint:
        if self.stock is None:
            return Footprint(0, self._per_token(), self._tokens(), 0, self.room, self._spills())
        weights = self._weights()
        return Footprint(
            weights_bytes=weights,
            cache_bytes_per_token=self._per_token(),
            cache_tokens=self._tokens(),
            beside_bytes=self._beside(weights),
            room=self.room,
            spills=self._spills(),
            choices=tuple(self._choices(weights, self.stock)),
        )

    def _weights(self) -> int:
        """As the reference asks for them."""
        if self.gguf is not None and not self._converted():
            return self._plain(4.0)
        quantisation = self.facts.ref.quantisation
        return self._quantised(quantisation) if quantisation else self._plain(self._itemsize())

    def _beside(self, weights: int) -> int:
        if self.room.spread:  # `max_memory` is for weights alone
            return 0
        if self.gguf is not None and not self._converted():
            return int(weights * GGUF_WORK)
        return int(weights * _BESIDE) + LIBRARY

    def _total(self, weights: int) -> int:
        cache = self._per_token() * self._tokens()
        return weights + cache + int(weights * _BESIDE) + LIBRARY

    def _choices(self, asked: int, stock: Stock) -> Iterator[Choice]:
        """Only what takes less than what is asked, on this device or another."""
        room = self.room
        if self.gguf is not None:
            whole = self.gguf.stat().st_size
            total = whole + self._per_token() * self._tokens() + LIBRARY
            write = "serving the file with llama.cpp and naming it by `endpoint:`"
            yield Choice(write, total, total <= room.host)
            return
        for write, weights in self._smaller(stock):
            if weights < asked:
                yield Choice(write, self._total(weights), self._total(weights) <= room.free)
        if room.device in ("cuda", "mps"):
            total = self._total(self._plain(4.0))
            yield Choice("`accelerator: cpu`", total, total <= room.host, "slow")
        yield from self._spread(stock)
        if self.facts.capabilities.kind == "causal" and not quantised_with(self.shape):
            weights = int(stock.numbers * _Q4_K_M)
            write = "a 4-bit GGUF file of it served with llama.cpp and named by `endpoint:`"
            if weights < asked:
                yield Choice(write, self._total(weights), self._total(weights) <= room.host)

    def _smaller(self, stock: Stock) -> Iterator[tuple[str, int]]:
        if quantised_with(self.shape):
            return
        yield "`torch_dtype: bfloat16`", self._plain(2.0)
        if self.room.device != "mps":
            yield "`load_in_8bit: true`", self._quantised("8bit")
            yield "`load_in_4bit: true`", self._quantised("4bit")

    def _spread(self, stock: Stock) -> Iterator[Choice]:
        ref, room = self.facts.ref, self.room
        whole, write = self._total(self._plain(self._itemsize())), "`device_map: auto`"
        if room.spread or ref.quantisation or ref.adapters or ref.accelerator != "auto":
            return  # weights on disk are neither quantised nor adapted
        if room.device == "cuda" and whole <= room.free + room.host:
            yield Choice(write, whole, True, "in part in CPU memory: slow")
            return
        least = self._total(2 * int(stock.block * self._itemsize()))
        note = "at the least; the rest is read from disk on every pass: very slow"
        yield Choice(write, least, least <= room.host, note)

    def _spills(self) -> bool:
        return self.room.spread and not (self.facts.ref.quantisation or self.facts.ref.adapters)

    def _plain(self, itemsize: float) -> int:
        stock = self.stock or Stock()
        return int(stock.numbers * itemsize) + stock.packed

    def _quantised(self, bits: str) -> int:
        stock = self.stock or Stock()
        each = _NF4 if bits == "4bit" else 1.0
        return int(stock.matrices * each + stock.others * self._itemsize()) + stock.packed

    def _itemsize(self) -> float:
        stored = self.stock.itemsize if self.stock else 4.0
        said = self.facts.ref.torch_dtype
        default = 4.0 if self.room.device == "cpu" else stored
        return DTYPE_BYTES.get(said, default)

    def _converted(self) -> bool:
        return self.gguf is not None and published(KIND, conversion_key(self.gguf))

    def _per_token(self) -> int:
        if self.facts.capabilities.kind == "encoder":
            return 0
        return cache_bytes_per_token(self.shape, self._itemsize())

    def _tokens(self) -> int:
        return 0 if self.facts.capabilities.kind == "encoder" else LEAST_TOKENS
