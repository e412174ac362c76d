"""`Relay`: rows go to the process that owns the model, their tokens come back.

Requests join and leave at any step; the library plans its steps, and this decides who is in them
and when a text is complete. On the compute thread only, as `Loop` calls it.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from bakeoff.core.errors import BakeoffError, EngineFailed
from bakeoff.engines.batch.careful import failed
from bakeoff.engines.steps.lanes import Lanes
from bakeoff.engines.steps.pace import Pace
from bakeoff.engines.steps.sequence import Seq, State
from bakeoff.engines.text.detokenize import Decode
from bakeoff.engines.text.finishing import Finisher, Made
from bakeoff.engines.text.writing import settled, without_model


class Speaks(Protocol):
    """The process, or what stands in for it; see `Process`."""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""

    def send(self, message: dict[str, Any]) -> None:
        """Give it a message."""

    def receive(self) -> dict[str, Any]:
        """Its next message."""

    def close(self) -> None:
        """End it."""


@dataclass(frozen=True)
class Parts:
    """What the relay works with.

    Attributes:
        start: starts the process; called again where it ended.
        pace: how many rows, and how many tokens of all of them, may be in the process.
        decode: token ids -> text, without special tokens.
    """

    start: Callable[[], Speaks]
    pace: Pace
    decode: Decode


class Relay:
    """Continuous batching by another process."""

    def __init__(self, parts: Parts, process: Speaks) -> None:
        """`process` is the first one."""
        self._parts = parts
        self._process = process
        self._waiting = Lanes()
        self._running: dict[int, Seq] = {}
        self._dropped: list[int] = []
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        """How many sequences there are."""
        return len(self._waiting) + len(self._running)

    def add(self, seq: Seq) -> None:
        """Put a row in line."""
        if settled(seq.row) or seq.control.stopped(seq.row.id):
            self._end(seq, without_model(seq.row, seq.control))
        else:
            self._waiting.add(seq)

    def turn(self) -> bool:
        """Let the stopped leave, the next in line join, and all others go on by one step.

        Returns:
            Whether there is more to do.

        Raises:
            EngineLost: the process ended.
        """
        self._sweep()
        if not self._process.alive:
            self._process.close()
            self._process = self._parts.start()
        added = self._admit()
        if added or self._dropped:
            self._process.send({"add": added, "drop": self._dropped})
            self._dropped = []
        if self._running:
            self._take(self._process.receive())
        return len(self) > 0

    def fail(self, error: BakeoffError) -> None:
        """Everyone fails; for an engine that closes, or whose process ended."""
        for number in list(self._running):
            self._leave(number, [error])
        for seq in list(self._waiting):
            self._waiting.drop([seq])
            self._end(seq, [error])

    def close(self) -> None:
        """End the process; may be called twice."""
        self._process.close()

    def _sweep(self) -> None:
        for number, seq in list(self._running.items()):
            if seq.stopped:
                self._leave(number, self._finished(seq))
        for seq in [seq for seq in self._waiting if seq.stopped]:
            self._waiting.drop([seq])
            self._end(seq, without_model(seq.row, seq.control))

    def _admit(self) -> list[list[Any]]:
        """Requests for the process, of those that are next in line."""
        added = []
        while (seq := self._waiting.next()) is not None and self._fits(seq):
            self._waiting.take(seq)
            seq.state, seq.began = State.WRITING, time.perf_counter()
            number = next(self._numbers)
            self._running[number] = seq
            added.append([number, seq.row.ids, _settings(seq)])
        for seq in self._running.values():
            seq.company = max(seq.company, len(self._running))
        return added

    def _fits(self, seq: Seq) -> bool:
        there = self._running.values()
        if not there:
            return True
        tokens = sum(one.row.length + one.row.max_new for one in (*there, seq))
        return (
            len(there) < self._parts.pace.most(seq.row.lane) and tokens <= self._parts.pace.tokens
        )

    def _take(self, message: dict[str, Any]) -> None:
        for number, said in message.get("failed", ()):
            self._leave(number, [EngineFailed(f"the openvino engine refused the row: {said}")])
        for number, ids, _, done in message.get("new", ()):
            if number in self._running:  # else it was dropped, and this was on its way
                self._push(number, ids, done)

    def _push(self, number: int, ids: list[int], done: bool) -> None:
        seq = self._running[number]
        try:
            complete = any(seq.take(token, None) for token in ids)
        except Exception as error:  # a tokenizer may raise anything; it costs this row alone
            self._leave(number, [failed(error)])
            return
        if complete:
            self._leave(number, self._finished(seq), dropped=not done)
        elif done:
            text = "the openvino engine ended the text before it was complete"
            self._leave(number, [EngineFailed(text)], dropped=False)

    def _leave(self, number: int, made: list[Made], dropped: bool = True) -> None:
        seq = self._running.pop(number, None)
        if dropped:
            self._dropped.append(number)
        if seq is not None:
            self._end(seq, made)

    def _end(self, seq: Seq, made: list[Made]) -> None:
        seq.state = State.DONE
        seq.sink.end(made)

    def _finished(self, seq: Seq) -> list[Made]:
        finisher = Finisher(self._parts.decode, None, seq.began or 0.0, seq.company)
        try:
            return finisher.copies(seq.row, seq.written())
        except Exception as error:  # see `_push`
            return [failed(error)] * seq.row.copies


def _settings(seq: Seq) -> dict[str, Any]:
    """What the library is told; stop strings, loops and deadlines are looked after here."""
    one = seq.row.decoding
    return {
        "max_new": one.max_new_tokens,
        "min_new": min(one.min_new_tokens, one.max_new_tokens),
        "repetition_penalty": one.repetition_penalty,
        "ends": sorted(seq.row.end_ids),
    }
