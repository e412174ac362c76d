"""`Careful`: runs batches so that one failure costs one row, and too little memory only time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bakeoff.core.errors import BakeoffError, EngineFailed, OutOfMemory
from bakeoff.engines.batch.plan import Limits, Sized, plan

R = TypeVar("R", bound=Sized)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Memory:
    """What an engine's library knows about memory.

    Attributes:
        ran_out: whether an error says that there is too little.
        release: gives back what a failed batch held.
    """

    ran_out: Callable[[BaseException], bool]
    release: Callable[[], object]


class Careful:
    """Plans and runs batches; remembers how much was too much.

    Attributes:
        limits: how large a batch may be; smaller after memory ran out.
    """

    def __init__(
        self, limits: Limits, memory: Memory, kin: Callable[[Any], Hashable] | None = None
    ) -> None:
        """`kin` says which rows may share a batch; default: those of one `group`."""
        self.limits = limits
        self._memory = memory
        self._kin = kin

    def plan(self, rows: Sequence[R]) -> list[list[R]]:
        """Batches that fit."""
        return plan(rows, self.limits, self._kin)

    def run(
        self, rows: Sequence[R], compute: Callable[[Sequence[R]], Sequence[T]]
    ) -> list[T | BakeoffError]:
        """A result or an error for each row, in their order.

        A batch that runs out of memory is halved, down to one row; a batch that fails otherwise
        is taken apart, and the row that raises by itself fails. An error of bakeoff's own (the
        caller cancelled) is every row's.
        """
        if not self.limits.fits(rows):  # planned before memory ran out in another batch
            return self._halves(rows, compute)
        try:
            return list(compute(rows))
        except BakeoffError as error:
            return [error] * len(rows)
        except Exception as error:  # whatever a library raises becomes the failure of one row
            ran_out = self._memory.ran_out(error)
            if len(rows) == 1:
                return [out_of_memory(error) if ran_out else failed(error)]
        self._memory.release()  # out here, since the traceback held the tensors
        if ran_out:
            self.limits = self.limits.halved(rows)
            return self._halves(rows, compute)
        return [result for row in rows for result in self.run([row], compute)]

    def _halves(
        self, rows: Sequence[R], compute: Callable[[Sequence[R]], Sequence[T]]
    ) -> list[T | BakeoffError]:
        half = len(rows) // 2
        return self.run(rows[:half], compute) + self.run(rows[half:], compute)


def unreadable(error: Exception) -> BakeoffError:
    """The failure of a row whose text the tokenizer could not take."""
    return EngineFailed(f"the tokenizer raised {type(error).__name__}: {error}")


def failed(error: BaseException) -> BakeoffError:
    """The failure of a row on which a library raised."""
    return EngineFailed(f"the engine raised {type(error).__name__}: {error}")


def out_of_memory(error: BaseException) -> BakeoffError:
    """The failure of a row that does not fit by itself."""
    first = str(error).strip().partition("\n")[0]
    return OutOfMemory(
        f"memory ran out on one row alone ({type(error).__name__}: {first}); "
        "shorten the row, lower max_new_tokens or load the model in fewer bits"
    )
