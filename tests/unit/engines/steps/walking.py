"""A model that needs no library: it counts, and the scheduler's tests look at what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bakeoff.core.errors import BakeoffError
from bakeoff.engines.batch.careful import Memory
from bakeoff.engines.batch.decoding import Decoding
from bakeoff.engines.batch.rows import Control, Row
from bakeoff.engines.steps.pace import Pace
from bakeoff.engines.steps.port import Chosen, Step
from bakeoff.engines.steps.scheduler import Parts, Scheduler
from bakeoff.engines.steps.sequence import Seq
from bakeoff.engines.text.finishing import Made
from bakeoff.engines.text.recording import Record

END = 9
ROOM = Pace(rows=8, tokens=10_000, chunk=32, gulp=64)


class Short(MemoryError):
    """The fake has no more memory."""


@dataclass(eq=False)
class Walker:
    """A `StepModel` whose next token is a function of all tokens before it.

    Attributes:
        passes: the ids of the sequences of each `decode`.
        reads: (ids, tokens read) of each `prefill`.
        breaks: whether a pass over these sequences raises, and what.
        known: sequences that take part in `decode`.
    """

    passes: list[tuple[str, ...]] = field(default_factory=list)
    reads: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
    breaks: Callable[[Sequence[Seq]], Exception | None] = lambda seqs: None
    known: list[Seq] = field(default_factory=list)

    def prefill(self, seqs: Sequence[Seq], budget: int) -> Step:
        self._check(seqs)
        done, spent, touched = [], 0, []
        for seq in seqs:
            count = min(seq.unread, budget - spent)
            if not count:
                break
            seq.read += count
            spent += count
            touched.append(seq.row.id)
            if not seq.unread:
                done.append(seq)
        self.reads.append((tuple(touched), spent))
        self.known += done
        return Step(done, [_next(seq) for seq in done])

    def decode(self, seqs: Sequence[Seq]) -> Step:
        assert set(seqs) == set(self.known), "the scheduler and the model disagree"
        self._check(seqs)
        self.passes.append(tuple(seq.row.id for seq in seqs))
        order = tuple(reversed(seqs))  # a model may answer in any order
        return Step(order, [_next(seq) for seq in order])

    def release(self, seq: Seq) -> None:
        if seq in self.known:
            self.known.remove(seq)

    def _check(self, seqs: Sequence[Seq]) -> None:
        error = self.breaks(seqs)
        if error is not None:
            raise error


def _next(seq: Seq) -> int:
    return 10 + sum((at + 1) * token for at, token in enumerate(seq.reading)) % 90


class Takes:
    """A `Chooses` that takes what the model says; `spoilt` names rows whose settings raise."""

    def __init__(self, spoilt: Sequence[str] = ()) -> None:
        self.spoilt = spoilt

    def choose(self, step: Step) -> list[Chosen | BakeoffError]:
        return [
            BakeoffError("spoilt") if seq.row.id in self.spoilt else Chosen(token)
            for seq, token in zip(step.seqs, step.logits, strict=True)
        ]

    def release(self, seq: Seq) -> None:
        pass


@dataclass
class Kept:
    """A `Sink` that keeps what it was given."""

    shown: list[list[int]] = field(default_factory=list)
    made: list[Made] | None = None

    def show(self, ids: Sequence[int], record: Record | None = None, /) -> None:
        self.shown.append(list(ids))

    def end(self, made: Sequence[Made]) -> None:
        assert self.made is None, "ended twice"
        self.made = list(made)


@dataclass
class Stage:
    """A scheduler over a walker, and who is on it."""

    pace: Pace = ROOM
    walker: Walker = field(default_factory=Walker)
    spoilt: Sequence[str] = ()
    control: Control = field(default_factory=Control)

    def __post_init__(self) -> None:
        memory = Memory(lambda error: isinstance(error, MemoryError), lambda: None)
        parts = Parts(self.walker, Takes(self.spoilt), memory, decode)
        self.scheduler = Scheduler(parts, self.pace)

    def add(self, name: str, new: int, length: int = 4, **more: object) -> Kept:
        """Put a row in line that writes `new` tokens behind a prompt of `length`."""
        sink = Kept()
        self.scheduler.add(Seq.of(row(name, new, length, **more), self.control, sink, decode))
        return sink

    def turns(self, most: int = 10_000) -> int:
        """Go on until nothing is left, or so many turns; how many it were."""
        for turn in range(most):
            if not self.scheduler.turn():
                return turn + 1
        return most


def row(name: str, new: int, length: int = 4, **more: object) -> Row:
    ids = tuple(1 + (len(name) + ord(name[-1]) + at) % 8 for at in range(length))
    made = Row(name, ids, 0, Decoding(max_new_tokens=new), end_ids=frozenset({END}))
    return replace(made, **more)  # type: ignore[arg-type]


def decode(ids: Sequence[int]) -> str:
    return "".join(chr(ord("a") + token % 26) for token in ids)


def alone(name: str, new: int, length: int = 4) -> str:
    """The text of a row that has the model to itself."""
    stage = Stage()
    sink = stage.add(name, new, length)
    stage.turns()
    return text(sink)


def text(sink: Kept) -> str:
    assert sink.made is not None, "not ended"
    made = sink.made[0]
    if isinstance(made, BakeoffError):
        raise made
    return made.text
