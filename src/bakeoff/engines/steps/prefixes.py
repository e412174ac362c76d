"""`Prefixes`: what was computed for the beginnings of earlier texts, within a bounded memory.

Texts are cut into blocks of so many tokens; a block is known by its tokens and by the block
before it, the first by its scope. So what is found was computed behind the very same tokens. The
block that was used longest ago goes first; a block is never older than those behind it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
BLOCK = 32
"""Tokens of a block."""


class _Key(NamedTuple):
    before: int | str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Block(Generic[T]):
    number: int
    value: T
    size: int


class Prefixes(Generic[T]):
    """Blocks of whatever a model keeps for its tokens.

    Attributes:
        used: bytes of all that is kept.
    """

    def __init__(self, most: int, size: Callable[[T], int], block: int = BLOCK) -> None:
        """`most` bytes are kept, as `size` counts them; 0 keeps nothing."""
        self.used = 0
        self._most = most
        self._size = size
        self._block = block
        self._blocks: OrderedDict[_Key, _Block[T]] = OrderedDict()
        self._made = 0

    def find(self, scope: str, ids: Sequence[int]) -> list[T]:
        """The blocks that `ids` begins with, as far as they are known without a gap."""
        found = self._chain(scope, ids)
        for key in reversed(found):
            self._blocks.move_to_end(key)
        return [self._blocks[key].value for key in found]

    def keep(self, scope: str, ids: Sequence[int], read: Callable[[int, int], T]) -> None:
        """Remember the whole blocks of `ids`.

        Args:
            scope: who may find them.
            ids: the tokens.
            read: gives what the model keeps for tokens `begin` to `end`; called for new ones.
        """
        known = self._chain(scope, ids)
        before: int | str = self._blocks[known[-1]].number if known else scope
        begin, chain = len(known) * self._block, list(known)
        while self._most and begin + self._block <= len(ids):
            key = _Key(before, tuple(ids[begin : begin + self._block]))
            value = read(begin, begin + self._block)
            self._made += 1
            self._blocks[key] = _Block(self._made, value, self._size(value))
            self.used += self._blocks[key].size
            before, begin = self._made, begin + self._block
            chain.append(key)
        for key in reversed(chain):
            self._blocks.move_to_end(key)
        while self.used > self._most:
            _, gone = self._blocks.popitem(last=False)
            self.used -= gone.size

    def clear(self) -> None:
        """Forget everything."""
        self._blocks.clear()
        self.used = 0

    def _chain(self, scope: str, ids: Sequence[int]) -> list[_Key]:
        before: int | str = scope
        found = []
        for begin in range(0, len(ids) - self._block + 1, self._block):
            key = _Key(before, tuple(ids[begin : begin + self._block]))
            block = self._blocks.get(key)
            if block is None:
                break
            found.append(key)
            before = block.number
        return found
