"""What picks tokens asks of a grammar; whoever implements it, the loop knows only this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.requests import Grammar

Allowed = NDArray[np.bool_]
"""For each token id whether it may come next."""


class Guide(Protocol):
    """Follows one text."""

    def allowed(self, written: Sequence[int]) -> Allowed:
        """Which tokens may follow `written`, which only ever grows.

        End tokens are among them only where the text may end.

        Raises:
            BakeoffError: no text can go on from there; it is this text's failure alone.
        """


class Guides(Protocol):
    """Makes guides for the texts of one model; on the compute thread only."""

    def open(self, grammar: Grammar, ends: frozenset[int]) -> Guide:
        """A guide for a new text.

        Args:
            grammar: that the text must follow.
            ends: tokens that end it.

        Raises:
            InvalidRequest: the grammar is wrong, or beyond what the library supports.
            UnsupportedOption: this model's tokens cannot follow grammars.
        """
