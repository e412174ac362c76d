"""Drawing tokens so that a text depends on its own request alone.

Every draw is one number from a counter-based generator (Philox4x64 with 10 rounds; Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011) keyed by seed and choice, at the counter of
the token's position. It picks from the filtered distribution, sorted by probability and then by
token id, through the inverse of its cumulative sum. Neither batch mates nor an earlier run can
change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bakeoff.engines.batch.decoding import Decoding

_HEAD = 256
"""Tokens looked at before the whole vocabulary is sorted: nearly always enough."""
_BLOCK = 256
_UNIT = 2.0**-53
_NO_LIMIT = 2**62

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Uniforms:
    """Numbers in [0, 1): number i is a function of seed, choice and i alone."""

    def __init__(self, seed: int, choice: int) -> None:
        self._key = np.array([seed, choice], dtype=np.uint64)
        self._block = -1
        self._values: Floats = np.empty(0)

    def __call__(self, position: int) -> float:
        """The number for the token at `position` (0 is the first new token)."""
        block, place = divmod(position, _BLOCK)
        if block != self._block:
            counter = np.array([block * _BLOCK, 0, 0, 0], dtype=np.uint64)
            words = np.random.Philox(counter=counter, key=self._key).random_raw(4 * _BLOCK)
            self._values = (words[::4] >> np.uint64(11)).astype(np.float64) * _UNIT
            self._block = block
        return float(self._values[place])


@dataclass(frozen=True, slots=True)
class Filters:
    """Settings of several rows, as columns.

    The order is the library's: temperature, `top_k`, `top_p` of what is left, `min_p`.
    """

    temperature: Floats
    top_k: Ints
    top_p: Floats
    min_p: Floats

    @classmethod
    def of(cls, settings: list[Decoding]) -> Filters:
        """One entry a row; `top_k` 0 becomes "no limit"."""
        return cls(
            np.array([one.temperature for one in settings]),
            np.array([one.top_k or _NO_LIMIT for one in settings]),
            np.array([one.top_p for one in settings]),
            np.array([one.min_p for one in settings]),
        )

    def row(self, index: int) -> Filters:
        """The settings of one row."""
        at = slice(index, index + 1)
        return Filters(self.temperature[at], self.top_k[at], self.top_p[at], self.min_p[at])


def draw(scores: Any, filters: Filters, uniforms: Floats) -> Ints:
    """One token for each row.

    Args:
        scores: logits, shape (rows, vocabulary), float32.
        filters: settings of these rows.
        uniforms: one number in [0, 1) for each row.
    """
    scale = torch.as_tensor(filters.temperature, dtype=scores.dtype, device=scores.device)
    scaled = scores / scale[:, None]
    total = torch.logsumexp(scaled, dim=-1, keepdim=True)
    head = min(_HEAD, scaled.shape[-1])
    values, ids = torch.topk(scaled - total, head, dim=-1)
    logs, tokens = _ordered(values.cpu().numpy(), ids.cpu().numpy())
    places, sure = _place(logs, filters, uniforms, whole=head == scaled.shape[-1])
    chosen: Ints = tokens[np.arange(len(places)), places]
    for row in np.flatnonzero(~sure):
        full, order = torch.sort(scaled[row] - total[row], descending=True, stable=True)
        one = full.cpu().numpy()[None]
        place, _ = _place(one, filters.row(int(row)), uniforms[row : row + 1], whole=True)
        chosen[row] = int(order[int(place[0])])
    return chosen


def _ordered(logs: Any, tokens: Any) -> tuple[Any, Any]:
    """The same, equal probabilities by token id: `topk` promises no order among them."""
    if not (logs[:, 1:] == logs[:, :-1]).any():
        return logs, tokens
    order = np.lexsort((tokens, -logs), axis=-1)
    return np.take_along_axis(logs, order, -1), np.take_along_axis(tokens, order, -1)


def _place(logs: Any, filters: Filters, uniforms: Floats, *, whole: bool) -> tuple[Ints, Any]:
    """Where each row's number falls, and whether the head was enough to know.

    `logs` are log-probabilities in descending order, of the whole vocabulary or of its head.
    """
    width = logs.shape[1]
    probs = np.exp(logs.astype(np.float64))
    sums = np.cumsum(probs, axis=1)
    first_k = np.minimum(filters.top_k, width)
    kept_mass = np.where(filters.top_k <= width, _at(sums, first_k - 1), 1.0)
    nucleus = 1 + (sums < (filters.top_p * kept_mass)[:, None]).sum(1)
    nucleus = np.where(filters.top_p < 1.0, nucleus, _NO_LIMIT)
    likely = (probs >= (filters.min_p * probs[:, 0])[:, None]).sum(1)
    likely = np.where((filters.min_p > 0.0) & (likely < width), likely, _NO_LIMIT)
    count = np.maximum(1, np.minimum(np.minimum(filters.top_k, nucleus), likely))
    bounded = count <= width
    mass = np.where(bounded, _at(sums, np.minimum(count, width) - 1), 1.0)
    target = uniforms * mass
    places = (sums <= target[:, None]).sum(1)
    # Rounding may leave a sum just under 1: a token of probability 0 is never drawn.
    last = np.minimum(np.minimum(count, width), np.maximum(1, (probs > 0.0).sum(1))) - 1
    if whole:
        return np.minimum(places, last), np.ones(len(places), dtype=bool)
    inside = places < width
    places = np.minimum(places, last)
    # A probability equal to the last of the head may go on behind it, in an unknown order.
    tied = _at(logs, places) == logs[:, -1]
    beyond = (filters.top_k > width) & (filters.top_k < _NO_LIMIT)
    return places, inside & ~tied & ~beyond & (bounded | (filters.top_p >= 1.0))


def _at(table: Any, places: Any) -> Any:
    return table[np.arange(len(table)), places]
