"""What a family's models need so that rows at different steps can share a forward pass.

Decoder-only models take a position for each token. Decoders beside an encoder mostly take one
for the whole batch; a shim gives each row its own. A family that is not listed here goes through
the library's `generate`: slower, never wrong.
"""

from __future__ import annotations

from typing import Any, Protocol

from bakeoff.engines.families import decoders, learned, m2m100, relative, sinusoidal

DECODERS = decoders.FAMILIES
"""Decoder-only families that need nothing."""


class Positions(Protocol):
    """Gives the rows of a pass their own positions."""

    def set(self, positions: Any) -> None:
        """Positions of the next pass's tokens, shape (rows, tokens); None: the model's own."""


class Family(Protocol):
    """A module of this folder."""

    FAMILIES: frozenset[str]

    def positions(self, model: Any) -> Positions:
        """What gives the rows of this model their positions."""


_ALL = (relative, learned, sinusoidal, m2m100)
BESIDE_ENCODERS = frozenset[str]().union(*(module.FAMILIES for module in _ALL))
"""Encoder-decoder families that have a shim."""


def positions(model: Any) -> Positions | None:
    """The shim of an encoder-decoder model, or None for a family that has none."""
    for module in _ALL:
        if model.config.model_type in module.FAMILIES:
            found: Positions = module.positions(model)
            return found
    return None
