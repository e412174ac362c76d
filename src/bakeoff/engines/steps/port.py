"""What the scheduler drives: a model that goes step by step, and what picks its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from bakeoff.core.errors import BakeoffError
from bakeoff.core.outputs import TokenLogprob
from bakeoff.engines.steps.sequence import Seq


class Step(NamedTuple):
    """What a forward pass says about the next tokens.

    Attributes:
        seqs: those that have a next token now.
        logits: one line for each of them, in their order.
    """

    seqs: Sequence[Seq]
    logits: Any


class StepModel(Protocol):
    """A model that reads and writes for many sequences at once; on the compute thread only.

    A sequence is known to the model from its first `prefill` to its `release`. Where a call
    raises, the sequences given to it have to be released before they are given again.
    """

    def prefill(self, seqs: Sequence[Seq], budget: int) -> Step:
        """Read what these sequences have not read, first things first, up to `budget` tokens.

        Advances `Seq.read`, and sets `Seq.cached` for what did not have to be computed. Of at
        least one sequence something is read. What cannot be read in parts (an encoder's input)
        is read whole.

        Returns:
            Those that are read to their end. They take part in `decode` from now on.
        """

    def decode(self, seqs: Sequence[Seq]) -> Step:
        """Let each sequence read its newest token; `seqs` are all that take part."""

    def release(self, seq: Seq) -> None:
        """Forget a sequence at any point; unknown ones are ignored."""


class Chosen(NamedTuple):
    """A token, and its log-probability where the row asked for it."""

    token: int
    logprob: TokenLogprob | None = None


class Chooses(Protocol):
    """Picks tokens by each row's own settings; on the compute thread only."""

    def choose(self, step: Step) -> list[Chosen | BakeoffError]:
        """A token for each sequence; an error is that sequence's alone."""

    def release(self, seq: Seq) -> None:
        """Forget a sequence; unknown ones are ignored."""
