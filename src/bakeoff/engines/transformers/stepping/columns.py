"""`Columns`: the keys and values of several rows, whose newest tokens all stand in one column.

Rows lie in contiguous lines, aligned at their ends: what lies before a row's first token is
masked. So one slice takes the new keys of all rows, a row joins by one copy for each layer, and
leaves by the last line moving into its place. The library's own masks, sliding windows and
relative positions hold, for this is how it pads prompts itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from transformers.cache_utils import Cache, DynamicLayer

T = TypeVar("T")
_SPARE = 0.25
"""Columns added beyond what is needed, as a share, so that growing is rare."""
_LEAST_SPARE = 64

Part = list[tuple[Any, ...]]
"""Keys and values of a stretch of one row, a pair for each layer."""


class Layer(DynamicLayer):  # type: ignore[misc]  # the library is untyped
    """One layer's part, as the library's models see it: a cache that is never copied to grow."""

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        self._columns = columns
        self.buffers: tuple[Any, Any] | None = None
        self.fresh = 0

    def update(
        self, key_states: Any, value_states: Any, *args: Any, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Take the newest keys and values; give all."""
        self.fresh = key_states.shape[-2]
        self.take(key_states, value_states)
        self.show(self.fresh)
        return self.keys, self.values

    def take(self, *states: Any) -> None:
        """Write keys and values behind the columns in use."""
        there = self._columns
        if self.buffers is None:
            self.buffers = (there.zeros(states[0]), there.zeros(states[1]))
        for buffer, new in zip(self.buffers, states, strict=True):
            buffer[: there.lines, :, there.end : there.end + new.shape[-2]] = new

    def show(self, more: int = 0) -> None:
        """Let `keys` and `values` be what is there now, and so many columns more."""
        there = self._columns
        if self.buffers is not None:
            shown = slice(there.begin, there.end + more)
            self.keys, self.values = (b[: there.lines, :, shown] for b in self.buffers)
            self.is_initialized = True

    def held(self, like: Layer) -> tuple[Any, ...]:
        """The buffers, made like those of another layer where there are none yet."""
        if self.buffers is None and like.buffers is not None:
            keys, values = like.buffers
            self.buffers = (self._columns.zeros(keys), self._columns.zeros(values))
        return self.buffers or ()

    def get_seq_length(self) -> int:
        """Columns in use."""
        return self._columns.width + self.fresh


class Columns:
    """A cache of rows of different lengths; used in inference mode only.

    Attributes:
        cache: what a model's `forward` takes.
        lines: rows in use.
        begin, end: columns in use.
        lengths: tokens of each row.
        mask: 1 where a row has a token, shape (lines, columns); of capacity, not of use.
        sound: whether the last pass went well.
    """

    def __init__(self, device: str, room: tuple[int, int] = (0, 0)) -> None:
        """`room` is how many lines and columns there are before anything has to grow."""
        self.cache = Cache(layer_class_to_replicate=lambda: Layer(self))
        self.begin = self.end = 0
        self.lengths: list[int] = []
        self.sound = True
        self._device = device
        self._room = room
        self.mask = torch.zeros(room, dtype=torch.long, device=device)

    @property
    def layers(self) -> list[Layer]:
        """One for each layer that a model has written to."""
        found: list[Layer] = self.cache.layers
        return found

    @property
    def lines(self) -> int:
        """Rows in use."""
        return len(self.lengths)

    @property
    def width(self) -> int:
        """Columns in use."""
        return self.end - self.begin

    @property
    def bytes(self) -> int:
        """What the buffers take."""
        return sum(b.nbytes for layer in self.layers for b in layer.buffers or ())

    def zeros(self, like: Any) -> Any:
        """A buffer for states of this kind; never uninitialised: what is masked is multiplied."""
        lines, columns = self._room
        return like.new_zeros((lines, like.shape[1], columns, like.shape[3]))

    # steps

    def open(self, rows: int) -> None:
        """Take in so many empty rows, where there are none."""
        self.lengths = [0] * rows

    def ready(self, new: Sequence[int]) -> Any:
        """Make room for a pass in which each row reads so many tokens, aligned at the end.

        Returns:
            The attention mask of that pass.
        """
        most = max(new)
        self.sound = False
        self._fit(self.lines, 0, most)
        columns = slice(self.end, self.end + most)
        if min(new) == most:
            self.mask[: self.lines, columns] = 1
        else:
            for line, count in enumerate(new):
                self.mask[line, columns] = 0
                self.mask[line, self.end + most - count : self.end + most] = 1
        return self.mask[: self.lines, self.begin : self.end + most]

    def passed(self, new: Sequence[int]) -> None:
        """The pass went well: what it wrote counts from now on."""
        self.lengths = [a + b for a, b in zip(self.lengths, new, strict=True)]
        self.end += max(new)
        self.sound = True
        for layer in self.layers:
            layer.fresh = 0

    # rows

    def join(self, other: Columns, line: int, *, left: bool = False) -> None:
        """Take in a row of another cache as the last one; `left`: it stands at the left there."""
        length = other.lengths[line]
        self._fit(self.lines + 1, max(0, length - self.width), 0)
        if not self.lengths:
            self.begin = self.end = length
        first = other.begin if left else other.end - length
        mine, its = self.lines, slice(first, first + length)
        place = slice(self.end - length, self.end)
        for layer, source in zip(self._as_many(other.layers), other.layers, strict=True):
            for buffer, states in zip(layer.held(source), source.buffers or (), strict=True):
                buffer[mine, :, place] = states[line, :, its]
        self.mask[mine] = 0
        self.mask[mine, place] = 1
        self.lengths.append(length)
        self.begin = min(self.begin, self.end - length)

    def leave(self, line: int) -> None:
        """Let a row go; the last one takes its line."""
        last, length = self.lines - 1, self.lengths[-1]
        if line != last:
            place = slice(self.end - length, self.end)
            for layer in self.layers:
                for buffer in layer.buffers or ():
                    buffer[line, :, place] = buffer[last, :, place]
            self.mask[line] = self.mask[last]
            self.lengths[line] = length
        self.lengths.pop()
        self.begin = self.end - max(self.lengths, default=0)

    def show(self) -> None:
        """Let the layers' `keys` and `values` be what is there now."""
        for layer in self.layers:
            layer.show()

    def part(self, line: int, begin: int, end: int) -> Part:
        """A copy of what is kept for some tokens of a row."""
        first = self.end - self.lengths[line]
        place = slice(first + begin, first + end)
        return [
            tuple(buffer[line, :, place].clone() for buffer in layer.buffers or ())
            for layer in self.layers
        ]

    def put(self, parts: Sequence[Part]) -> None:
        """Let the one row, which is empty, begin with what `part` gave, in order."""
        count = sum(part[0][0].shape[-2] for part in parts)
        self.ready([count])
        for number, layer in enumerate(self._as_many(parts[0])):
            sides = zip(*(part[number] for part in parts), strict=True)
            layer.take(*(torch.cat(states, dim=-2)[None] for states in sides))
        self.passed([count])

    def _as_many(self, layers: Sequence[Any]) -> list[Layer]:
        while len(self.layers) < len(layers):
            self.layers.append(Layer(self))
        return self.layers

    # room

    def _fit(self, lines: int, left: int, right: int) -> None:
        """Have room for so many lines, and for columns on either side."""
        have_lines, have = self._room
        if lines <= have_lines and self.begin >= left and self.end + right <= have:
            return
        width = self.width + left + right
        columns = have
        if width + max(_LEAST_SPARE, int(width * _SPARE)) // 2 > have:
            columns = width + max(_LEAST_SPARE, int(width * _SPARE))
        if lines > have_lines:
            have_lines = max(lines, 2 * have_lines)
        self._move((have_lines, columns), left)

    def _move(self, room: tuple[int, int], begin: int) -> None:
        """Into new buffers of this size, the columns in use from `begin` on."""
        self._room, width = room, self.width
        old, new = slice(self.begin, self.end), slice(begin, begin + width)
        for layer in self.layers:
            if layer.buffers is not None:
                keys, values = layer.buffers
                layer.buffers = (self._moved(keys, old, new), self._moved(values, old, new))
        mask = torch.zeros(room, dtype=torch.long, device=self._device)
        if width:
            mask[: self.lines, new] = self.mask[: self.lines, old]
        self.mask = mask
        self.begin, self.end = begin, begin + width

    def _moved(self, buffer: Any, old: slice, new: slice) -> Any:
        moved = self.zeros(buffer)
        if self.width:
            moved[: self.lines, :, new] = buffer[: self.lines, :, old]
        return moved


def give_up(rows: list[T], line: int) -> None:
    """The same as `Columns.leave` for what stands for the rows: the last one takes the line."""
    last = rows.pop()
    if line < len(rows):
        rows[line] = last


def part_bytes(part: Part) -> int:
    """What a part takes in memory."""
    return sum(states.nbytes for pair in part for states in pair)
