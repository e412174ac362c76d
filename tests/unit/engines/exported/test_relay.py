"""Rows and the process that owns the model, which is a stand-in here: it counts upwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import (
    BakeoffError,
    Cancelled,
    DeadlineExceeded,
    EngineClosed,
    EngineFailed,
    EngineLost,
)
from bakeoff.core.outputs import Completion
from bakeoff.engines.batch.decoding import Decoding
from bakeoff.engines.batch.rows import Control, Row
from bakeoff.engines.openvino.relay import Parts, Relay
from bakeoff.engines.steps.pace import Pace
from bakeoff.engines.steps.sequence import Seq
from bakeoff.engines.text.finishing import Made

END = 99
ROOM = Pace(rows=4, tokens=1_000)


@dataclass(eq=False)
class Counts:
    """Writes the token behind the last one, for each request, until it is told otherwise."""

    running: dict[int, list[int]] = field(default_factory=dict)
    limits: dict[int, int] = field(default_factory=dict)
    refuses: set[int] = field(default_factory=set)
    messages: list[dict[str, Any]] = field(default_factory=list)
    steps: int = 0
    alive: bool = True
    dies_at: int | None = None
    early: bool = False
    closed: bool = False
    _failed: list[list[Any]] = field(default_factory=list)

    def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        for number in message["drop"]:
            self.running.pop(number, None)
        for number, ids, settings in message["add"]:
            if ids[0] in self.refuses:
                self._failed.append([number, "RuntimeError: no"])
            else:
                self.running[number], self.limits[number] = [ids[-1]], settings["max_new"]

    def receive(self) -> dict[str, Any]:
        if self._failed:
            failed, self._failed = self._failed, []
            return {"failed": failed}
        assert self.running, "it would be waited for in vain"
        self.steps += 1
        if self.steps == self.dies_at:
            self.alive = False
            raise EngineLost("the process ended")
        new = []
        for number, ids in list(self.running.items()):
            ids.append(ids[-1] + 1)
            done = len(ids) > self.limits[number] or ids[-1] == END or self.early
            new.append([number, [] if self.early else ids[-1:], [], done])
            if done:
                del self.running[number]
        return {"new": new}

    def close(self) -> None:
        self.closed, self.alive = True, False


@dataclass
class Sink:
    show: Any = None
    made: list[Made] = field(default_factory=list)
    shown: list[list[int]] = field(default_factory=list)

    def end(self, made: Sequence[Made]) -> None:
        assert not self.made, "a text ends once"
        self.made = list(made)

    @property
    def text(self) -> Completion:
        assert isinstance(self.made[0], Completion), self.made
        return self.made[0]

    @property
    def error(self) -> BakeoffError:
        assert isinstance(self.made[0], BakeoffError), self.made
        return self.made[0]


@dataclass
class Desk:
    """A relay, what is behind it, and what was asked of it."""

    process: Counts = field(default_factory=Counts)
    pace: Pace = ROOM
    started: list[Counts] = field(default_factory=list)
    control: Control = field(default_factory=Control)

    def __post_init__(self) -> None:
        def start() -> Counts:
            self.started.append(Counts())
            return self.started[-1]

        self.relay = Relay(Parts(start, self.pace, decode), self.process)

    def add(self, name: str, begin: int = 10, new: int = 5, **more: Any) -> Sink:
        row = Row(name, (1, begin), 0, Decoding(max_new_tokens=new), frozenset({END}))
        sink = Sink()
        self.relay.add(Seq.of(replace(row, **more), self.control, sink, decode))
        return sink

    def finish(self) -> None:
        while self.relay.turn():
            pass


def decode(ids: Sequence[int]) -> str:
    return "".join(f"{token} " for token in ids)


def test_rows_join_and_leave_at_any_step() -> None:
    desk = Desk()
    first = desk.add("a", 10, 8)
    desk.relay.turn()
    late = desk.add("b", 20, 3)
    desk.finish()
    assert first.text.text == "11 12 13 14 15 16 17 18 "
    assert late.text.token_ids == (21, 22, 23)
    assert desk.process.steps == 8
    assert first.text.concurrency == late.text.concurrency == 2
    assert first.text.finish is FinishReason.LENGTH
    assert len(desk.relay) == 0


def test_an_end_token_a_stop_string_and_a_loop_end_a_text() -> None:
    desk = Desk()
    ended = desk.add("a", 96)
    stopped = desk.add("b", 10, 50, stops=("13 1",))
    other = desk.add("c", 30, 9)
    desk.finish()
    assert (ended.text.text, ended.text.finish) == ("97 98 ", FinishReason.STOP)
    assert (stopped.text.text, stopped.text.finish) == ("11 12 ", FinishReason.STOP)
    assert len(other.text.token_ids) == 9
    assert desk.process.messages[-1]["drop"] == [2]
    assert desk.process.steps == 9


def test_no_more_than_fit_run_at_a_time_and_the_better_lane_goes_first() -> None:
    desk = Desk(pace=Pace(rows=2, tokens=1_000))
    rows = [desk.add(f"r{at}", new=4) for at in range(3)]
    edit = desk.add("edit", 50, new=4, lane="edit")
    desk.relay.turn()
    (message,) = desk.process.messages
    assert [ids for _, ids, _ in message["add"]] == [(1, 50), (1, 10)]
    desk.finish()
    assert all(len(sink.text.token_ids) == 4 for sink in (*rows, edit))
    assert desk.process.steps == 8


def test_one_that_is_larger_than_the_room_runs_alone() -> None:
    desk = Desk(pace=Pace(rows=4, tokens=10))
    large, small = desk.add("a", new=30), desk.add("b", new=3)
    desk.finish()
    assert len(large.text.token_ids) == 30
    assert large.text.concurrency == small.text.concurrency == 1


def test_cancelling_takes_one_step_and_frees_the_place() -> None:
    desk = Desk()
    gone, stays = desk.add("gone", new=50), desk.add("stays", new=6)
    desk.relay.turn()
    desk.relay.turn()
    desk.control.abort("gone")
    desk.relay.turn()
    assert gone.text.finish is FinishReason.CANCELLED
    assert gone.text.token_ids == (11, 12)
    assert list(desk.process.running) == [2]
    desk.finish()
    assert len(stays.text.token_ids) == 6


def test_one_that_waits_is_cancelled_where_it_waits() -> None:
    desk = Desk(pace=Pace(rows=1, tokens=1_000))
    desk.add("a", new=3)
    waits = desk.add("b")
    desk.relay.turn()
    desk.control.stop("cancelled")
    desk.finish()
    assert isinstance(waits.error, Cancelled)
    assert len(desk.process.messages[0]["add"]) == 1


def test_a_deadline_passes() -> None:
    desk = Desk()
    late = desk.add("a", deadline=-1.0)
    assert isinstance(late.made[0], DeadlineExceeded)
    assert len(desk.relay) == 0


def test_a_row_that_the_library_refuses_costs_only_itself() -> None:
    desk = Desk(Counts(refuses={7}))
    bad = desk.add("bad", ids=(7, 8))
    good = desk.add("good")
    desk.finish()
    assert isinstance(bad.error, EngineFailed)
    assert "RuntimeError: no" in bad.error.message
    assert len(good.text.token_ids) == 5


def test_a_text_that_the_library_breaks_off_is_a_failure() -> None:
    desk = Desk(Counts(early=True))
    broken = desk.add("a")
    desk.finish()
    assert isinstance(broken.error, EngineFailed)


def test_a_process_that_ended_is_started_again() -> None:
    desk = Desk(Counts(dies_at=2))
    lost = desk.add("a")
    desk.relay.turn()
    with pytest.raises(EngineLost) as caught:
        desk.relay.turn()
    desk.relay.fail(caught.value)
    assert lost.error is caught.value
    assert len(desk.relay) == 0
    after = desk.add("b")
    desk.finish()
    assert len(after.text.token_ids) == 5
    assert desk.process.closed
    assert len(desk.started) == 1


def test_closing_fails_all_of_them() -> None:
    desk = Desk(pace=Pace(rows=1, tokens=1_000))
    sinks = [desk.add("a"), desk.add("b")]
    desk.relay.turn()
    desk.relay.fail(EngineClosed("closed"))
    assert all(isinstance(sink.error, EngineClosed) for sink in sinks)
    desk.relay.close()
    assert desk.process.closed


def test_tokens_that_were_on_their_way_are_ignored() -> None:
    desk = Desk()
    desk.add("a", new=3)
    desk.relay.turn()
    desk.control.abort("a")
    desk.relay._take({"new": [[77, [1], [], False]]})
    desk.finish()
