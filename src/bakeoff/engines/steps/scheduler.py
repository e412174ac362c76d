"""`Scheduler`: who reads, who writes, who leaves; one turn is at most one step for everyone.

On the compute thread only. Loads no torch: the model and what picks its tokens are behind ports.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.core.errors import BakeoffError
from bakeoff.engines.batch.careful import Memory, failed, out_of_memory
from bakeoff.engines.steps.lanes import Lanes, rank
from bakeoff.engines.steps.pace import Pace
from bakeoff.engines.steps.port import Chooses, Chosen, Step, StepModel
from bakeoff.engines.steps.sequence import Seq, State
from bakeoff.engines.text.detokenize import Decode
from bakeoff.engines.text.finishing import Finisher, Made
from bakeoff.engines.text.writing import settled, without_model


@dataclass(frozen=True)
class Parts:
    """What the scheduler works with.

    Attributes:
        model: goes step by step.
        chooser: picks tokens.
        memory: what the library knows about memory.
        decode: token ids -> text, without special tokens.
        last: token that the checkpoint forces at the limit of a text, or None.
    """

    model: StepModel
    chooser: Chooses
    memory: Memory
    decode: Decode
    last: int | None = None


class Scheduler:
    """Continuous batching: a sequence joins when there is room and leaves when it is complete.

    Attributes:
        pace: the limits; lower after memory ran out.
        steps: passes in which somebody wrote.
    """

    def __init__(self, parts: Parts, pace: Pace) -> None:
        self.pace = pace
        self.steps = 0
        self._parts = parts
        self._waiting = Lanes()
        self._reading: list[Seq] = []
        self._writing: list[Seq] = []

    def __len__(self) -> int:
        """How many sequences there are."""
        return len(self._waiting) + len(self._reading) + len(self._writing)

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
        """
        self._sweep()
        self._admit()
        if self._reading:
            self._read()
        if self._writing:
            self._write()
        return len(self) > 0

    def fail(self, error: BakeoffError) -> None:
        """Everyone fails; for an engine that closes, or cannot go on."""
        for seq in [*self._waiting, *self._reading, *self._writing]:
            self._leave(seq, [error])

    # who leaves and who joins

    def _sweep(self) -> None:
        for seq in [*self._reading, *self._writing]:
            if seq.stopped:
                self._leave(seq, self._finished(seq))
        gone = [seq for seq in self._waiting if seq.stopped]
        for seq in gone:
            made = self._finished(seq) if seq.ids else without_model(seq.row, seq.control)
            self._leave(seq, made)

    def _admit(self) -> None:
        unread = sum(seq.unread for seq in self._reading)
        while (seq := self._waiting.next()) is not None and self._fits(seq, unread):
            self._waiting.take(seq)
            seq.state = State.READING
            unread += seq.unread
            self._reading.append(seq)
        self._reading.sort(key=lambda seq: (seq.alone, rank(seq)))

    def _fits(self, seq: Seq, unread: int) -> bool:
        """Whether there is room; whoever would only wait for others to be read stays in line."""
        there = [*self._reading, *self._writing]
        if not there:
            return True
        best = all(rank(seq) < rank(other) for other in self._reading)
        if unread >= self._budget and not best:
            return False
        sizes = (self._promised(one) for one in (*there, seq))
        fits = (len(there) + 1) * max(sizes) <= self.pace.tokens
        return fits and len(there) < self.pace.most(seq.row.lane)

    def _promised(self, seq: Seq) -> int:
        """Its size a while from now."""
        return seq.size + min(self.pace.reserve, seq.row.max_new - len(seq.ids))

    @property
    def _budget(self) -> int:
        """Tokens to read now: few where somebody would notice the pause."""
        watched = any(seq.watched for seq in self._writing)
        return self.pace.chunk if watched else self.pace.gulp

    # reading

    def _read(self) -> None:
        group = self._reading
        if group[0].alone or any(seq.alone for seq in group):
            group = [next(seq for seq in group if seq.alone)]
        for seq in group:
            seq.began = seq.began or time.perf_counter()
        try:
            step = self._parts.model.prefill(group, self._budget)
        except Exception as error:  # whatever a library raises becomes the failure of one row
            self._failed(group, error)
            return
        for seq in step.seqs:
            self._reading.remove(seq)
            self._writing.append(seq)
            seq.state, seq.alone = State.WRITING, False
        self._take(step)

    # writing

    def _write(self) -> None:
        self._make_room()
        company = len(self._writing)
        for seq in self._writing:
            seq.company = max(seq.company, company)
        try:
            step = self._parts.model.decode(tuple(self._writing))
        except Exception as error:  # see `_read`
            self._failed(self._writing, error)
            return
        self.steps += 1
        self._take(step)

    def _make_room(self) -> None:
        """Those that came last lose their place where all together grew too large."""
        while len(self._writing) > 1:
            longest = max(seq.size for seq in self._writing) + 1
            if len(self._writing) * longest <= self.pace.tokens:
                return
            self._put_back(max(self._writing, key=lambda seq: (rank(seq), seq.row.arrived)))

    def _take(self, step: Step) -> None:
        if not step.seqs:
            return
        for seq, chosen in zip(step.seqs, self._parts.chooser.choose(step), strict=True):
            if isinstance(chosen, Chosen):
                self._push(seq, chosen)
            else:
                self._leave(seq, [chosen])

    def _push(self, seq: Seq, chosen: Chosen) -> None:
        if not seq.row.max_new:  # it was read for what the model says of its prompt
            self._leave(seq, self._finished(seq))
            return
        try:
            complete = seq.take(chosen.token, chosen.logprob)
        except Exception as error:  # a tokenizer may raise anything; it costs this row alone
            self._leave(seq, [failed(error)])
            return
        if complete:
            self._leave(seq, self._finished(seq))

    # failing

    def _failed(self, group: Sequence[Seq], error: Exception) -> None:
        """One row alone fails; several are read again one by one, to find the one to blame."""
        ran_out = self._parts.memory.ran_out(error)
        if len(group) == 1 and (not ran_out or len(self._reading) + len(self._writing) == 1):
            self._leave(group[0], [out_of_memory(error) if ran_out else failed(error)])
        elif ran_out:
            there = [*self._reading, *self._writing]
            self.pace = self.pace.halved(len(there), max(seq.size for seq in there))
            self._parts.memory.release()
            for seq in there:
                self._put_back(seq)
        else:
            for seq in tuple(group):
                self._put_back(seq)
                seq.alone = True

    def _put_back(self, seq: Seq) -> None:
        self._forget(seq)
        seq.put_back()
        self._waiting.put_back(seq)

    def _leave(self, seq: Seq, made: list[Made]) -> None:
        self._forget(seq)
        self._waiting.drop([seq])
        self._end(seq, made)

    def _forget(self, seq: Seq) -> None:
        for place in (self._reading, self._writing):
            if seq in place:
                place.remove(seq)
        self._parts.model.release(seq)
        self._parts.chooser.release(seq)

    def _end(self, seq: Seq, made: list[Made]) -> None:
        seq.state = State.DONE
        seq.sink.end(made)

    def _finished(self, seq: Seq) -> list[Made]:
        finisher = Finisher(self._parts.decode, self._parts.last, seq.began or 0.0, seq.company)
        try:
            return finisher.copies(seq.row, seq.written())
        except Exception as error:  # see `_push`
            return [failed(error)] * seq.row.copies
