"""Drawing tokens so that a text depends on its own request alone.

Every draw is one number from a counter-based generator (Philox4x64 with 10 rounds; Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011) keyed by seed and choice, at the counter of
the token's position. It picks from the filtered distribution, in the order of token ids, through
the inverse of its cumulative sum. Neither batch mates nor an earlier run can change it: rounding,
which differs with the shape of a batch, moves the sums by a millionth, where an order by
probability would let tokens change places (design/0007-draws-by-token-id.md).
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

    @property
    def free(self) -> NDArray[np.bool_]:
        """Rows that keep the whole vocabulary."""
        found: NDArray[np.bool_] = self.top_k == _NO_LIMIT
        return found & (self.top_p >= 1.0) & (self.min_p <= 0.0)

    def rows(self, at: Ints) -> Filters:
        """The settings of some rows."""
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
    logs = scaled - torch.logsumexp(scaled, dim=-1, keepdim=True)
    chosen = np.empty(len(logs), dtype=np.int64)
    free = filters.free
    if free.any():
        rows = torch.as_tensor(np.flatnonzero(free), device=logs.device)
        chosen[free] = _of_all(logs[rows], uniforms[free])
    if not free.all():
        chosen[~free] = _of_kept(logs, np.flatnonzero(~free), filters, uniforms)
    return chosen


def _of_all(logs: Any, uniforms: Floats) -> Ints:
    """Draws from the whole vocabulary."""
    sums = torch.cumsum(torch.exp(logs.double()), dim=-1)
    whole = sums[:, -1:].contiguous()
    target = torch.as_tensor(uniforms, dtype=sums.dtype, device=sums.device)[:, None] * whole
    places = torch.searchsorted(sums, target, right=True)
    # Rounding may put a number on the very end: a token of probability 0 is never drawn.
    last = torch.searchsorted(sums, whole)
    found: Ints = torch.minimum(places, last)[:, 0].cpu().numpy()
    return found


def _of_kept(logs: Any, rows: Ints, filters: Filters, uniforms: Floats) -> Ints:
    """Draws from what the filters of these rows keep."""
    some = logs[torch.as_tensor(rows, device=logs.device)]
    head = min(_HEAD, logs.shape[-1])
    values, ids = torch.topk(some, head, dim=-1)
    best, tokens = _ordered(values.cpu().numpy(), ids.cpu().numpy())
    counts, sure = _kept(best, filters.rows(rows), whole=head == logs.shape[-1])
    chosen = _pick(best, tokens, counts, uniforms[rows])
    for at in np.flatnonzero(~sure):
        full, order = torch.sort(some[at], descending=True, stable=True)
        one, names = full.cpu().numpy()[None], order.cpu().numpy()[None]
        count, _ = _kept(one, filters.rows(rows[at : at + 1]), whole=True)
        chosen[at] = _pick(one, names, count, uniforms[rows[at : at + 1]])[0]
    return chosen


def _ordered(logs: Any, tokens: Any) -> tuple[Any, Any]:
    """The same, equal probabilities by token id: `topk` promises no order among them."""
    if not (logs[:, 1:] == logs[:, :-1]).any():
        return logs, tokens
    order = np.lexsort((tokens, -logs), axis=-1)
    return np.take_along_axis(logs, order, -1), np.take_along_axis(tokens, order, -1)


def _kept(logs: Any, filters: Filters, *, whole: bool) -> tuple[Ints, Any]:
    """How many of the likeliest tokens the filters keep, and whether that is known.

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
    if whole:
        return np.minimum(count, width), np.ones(len(count), dtype=bool)
    inside = count <= width
    count = np.minimum(count, width)
    # A probability equal to the last of the head may go on behind it, in an unknown order.
    tied = _at(logs, count - 1) == logs[:, -1]
    beyond = (filters.top_k > width) & (filters.top_k < _NO_LIMIT)
    return count, inside & ~tied & ~beyond


def _pick(logs: Any, tokens: Any, counts: Ints, uniforms: Floats) -> Ints:
    """Where each row's number falls among its first so many tokens, by their ids."""
    probs = np.exp(logs.astype(np.float64))
    probs[np.arange(logs.shape[1]) >= counts[:, None]] = 0.0
    order = np.argsort(tokens, axis=1)
    sums = np.cumsum(np.take_along_axis(probs, order, 1), axis=1)
    whole = sums[:, -1:]
    places = (sums <= uniforms[:, None] * whole).sum(1)
    last = (sums < whole).sum(1)
    chosen: Ints = _at(np.take_along_axis(tokens, order, 1), np.minimum(places, last))
    return chosen


def _at(table: Any, places: Any) -> Any:
    return table[np.arange(len(table)), places]
