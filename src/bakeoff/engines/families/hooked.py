"""A decoder's table of positions, answered for each row by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class HookedPositions:
    """Replaces what a decoder's `embed_positions` gives while positions are set."""

    def __init__(self, module: Any, look_up: Callable[[Any, Any], Any]) -> None:
        """`look_up` takes the positions and the module's first argument, and gives vectors."""
        self._positions: Any = None
        self._look_up = look_up
        module.register_forward_hook(self._instead)

    def set(self, positions: Any) -> None:
        """See `Positions.set`."""
        self._positions = positions

    def _instead(self, module: Any, given: tuple[Any, ...], output: Any) -> Any:
        if self._positions is None:
            return output
        return self._look_up(self._positions, given[0] if given else None)
