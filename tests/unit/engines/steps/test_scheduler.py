"""The scheduler by itself: who takes part in which step, and what nobody else notices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import BakeoffError, DeadlineExceeded, EngineFailed, OutOfMemory
from bakeoff.core.outputs import Completion
from tests.unit.engines.steps.walking import ROOM, Short, Stage, Walker, alone, text


def test_the_longest_request_says_how_many_steps_there_are():
    stage = Stage()
    sizes = [16, 32, 48, 64, 96, 128, 192, 256]
    sinks = [stage.add(f"r{at}", size, 10) for at, size in enumerate(sizes)]
    stage.turns()
    assert [len(sink.made[0].token_ids) for sink in sinks] == sizes
    assert max(sizes) - 1 <= stage.scheduler.steps <= 1.1 * max(sizes)
    assert len(stage.walker.passes) == stage.scheduler.steps


def test_more_requests_than_places_leave_no_place_empty():
    stage = Stage(replace(ROOM, rows=4))
    sinks = [stage.add(f"r{at}", 20 + at) for at in range(12)]
    stage.turns()
    assert all(text(sink) for sink in sinks)
    assert max(len(one) for one in stage.walker.passes) == 4
    busy = [len(one) for one in stage.walker.passes]
    assert busy[: busy.index(3)].count(4) > 0.9 * busy.index(3)


def test_who_comes_midway_has_a_token_within_two_steps_of_being_read():
    stage = Stage()
    first = [stage.add(f"r{at}", 100) for at in range(3)]
    stage.turns(20)
    late = stage.add("late", 10)
    before = stage.scheduler.steps
    while not late.shown:
        stage.turns(1)
    assert stage.scheduler.steps - before <= 2
    stage.turns()
    assert text(late) == alone("late", 10)
    assert [text(sink) for sink in first] == [alone(f"r{at}", 100) for at in range(3)]


def test_a_text_is_the_same_late_and_behind_a_cancelled_neighbour():
    stage = Stage(replace(ROOM, rows=2))
    stage.add("gone", 500)
    other = stage.add("other", 60)
    stage.turns(10)
    late = stage.add("late", 40)
    stage.control.abort("gone")
    stage.turns()
    assert text(late) == alone("late", 40)
    assert text(other) == alone("other", 60)


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_cancelling_ends_a_row_before_the_next_step(turns):
    """In line, while its prompt is read, and while it writes."""
    stage = Stage(replace(ROOM, chunk=4, gulp=4))
    sink = stage.add("a", 50, length=10)
    stage.turns(turns)
    passes = len(stage.walker.passes), len(stage.walker.reads)
    written = len(sink.shown)
    stage.control.abort("a")
    stage.turns(1)
    assert (len(stage.walker.passes), len(stage.walker.reads)) == passes
    made = sink.made[0]
    assert isinstance(made, Completion)
    assert made.finish is FinishReason.CANCELLED
    assert len(made.token_ids) == written
    assert not stage.walker.known


def test_a_deadline_ends_a_row_in_line_and_while_it_writes():
    stage = Stage(replace(ROOM, rows=1))
    stage.add("first", 20)
    waits = stage.add("waits", 20, deadline=1e-9)
    stage.turns(3)
    assert isinstance(waits.made[0], DeadlineExceeded)
    stage.turns()


def test_the_text_ends_where_a_row_says_so():
    whole = alone("a", 40)
    stop = whole[10:13]
    stage = Stage()
    sink = stage.add("a", 40, stops=(stop,))
    nothing = stage.add("b", 0)
    stage.turns()
    assert text(sink) == whole[: whole.find(stop)]
    assert sink.made[0].finish is FinishReason.STOP
    assert text(nothing) == ""


def test_a_row_that_writes_nothing_is_read_where_its_prompt_is_to_be_told():
    stage = Stage()
    told = stage.add("told", 0, prompt_logprobs=1)
    silent, other = stage.add("silent", 0), stage.add("other", 3)
    stage.turns()
    assert [text(sink) for sink in (told, silent)] == ["", ""]
    assert text(other) == alone("other", 3)
    assert "told" in {name for names, _ in stage.walker.reads for name in names}
    assert "silent" not in {name for names, _ in stage.walker.reads for name in names}
    assert all("told" not in names for names in stage.walker.passes)
    assert not stage.walker.known


def test_a_long_prompt_is_read_in_parts_while_others_write():
    stage = Stage(replace(ROOM, chunk=16))
    quick = stage.add("quick", 60)
    stage.turns(3)
    long = stage.add("long", 5, length=160)
    told = []
    while not long.shown:
        before = len(quick.shown)
        stage.turns(1)
        told.append(len(quick.shown) - before)
    assert len(told) == 10
    assert told == [1] * 10
    assert all(count <= 16 for _, count in stage.walker.reads[1:])
    stage.turns()
    assert text(long) == alone("long", 5, 160)


def test_better_lanes_go_first_and_the_others_still_come():
    stage = Stage(replace(ROOM, rows=1))
    order = []
    stage.add("now", 3)
    stage.turns(1)
    for first, lane in enumerate(("batch", "chat", "edit")):
        for at in range(6):
            sink = stage.add(f"{lane}{at}", 2, lane=lane, arrived=float(6 * first + at))
            sink.end = lambda made: order.append(made[0].id)
    stage.turns()
    assert len(order) == 18
    assert [one[:-1] for one in order[:3]].count("edit") >= 2
    assert order.index("batch0") < 5, "whoever waited longest has a turn of its own"
    assert order.index("edit5") < order.index("batch5")


def test_a_full_batch_does_not_hold_up_an_editor():
    stage = Stage(replace(ROOM, rows=4))
    slow = [stage.add(f"b{at}", 400) for at in range(8)]
    stage.turns(5)
    quick = stage.add("quick", 5, lane="edit")
    stage.turns(6)
    assert text(quick) == alone("quick", 5)
    assert not any(sink.made for sink in slow)


def test_there_are_never_more_tokens_than_there_is_room_for():
    stage = Stage(replace(ROOM, tokens=300, reserve=8))
    sinks = [stage.add(f"r{at}", 60, length=20) for at in range(6)]
    most = 0
    while stage.scheduler.turn():
        sizes = [seq.size for seq in stage.walker.known] or [0]
        most = max(most, len(sizes) * max(sizes))
    assert most <= 300
    assert [text(sink) for sink in sinks] == [alone(f"r{at}", 60, 20) for at in range(6)]


def test_one_row_that_raises_costs_only_itself():
    def breaks(seqs):
        return ValueError("bad row") if any(seq.row.id == "bad" for seq in seqs) else None

    stage = Stage(walker=Walker(breaks=breaks))
    good = [stage.add(f"r{at}", 30) for at in range(3)]
    stage.turns(5)
    bad = stage.add("bad", 30)
    stage.turns()
    assert isinstance(bad.made[0], EngineFailed)
    assert "bad row" in str(bad.made[0])
    assert [text(sink) for sink in good] == [alone(f"r{at}", 30) for at in range(3)]


def test_a_row_that_raises_while_it_writes_costs_only_itself():
    def breaks(seqs):
        late = any(seq.row.id == "bad" and len(seq.ids) >= 7 for seq in seqs)
        return ValueError("bad row") if late else None

    stage = Stage(walker=Walker(breaks=breaks))
    good = [stage.add(f"r{at}", 30) for at in range(3)]
    bad = stage.add("bad", 30)
    stage.turns()
    assert isinstance(bad.made[0], EngineFailed)
    assert [text(sink) for sink in good] == [alone(f"r{at}", 30) for at in range(3)]


def test_settings_that_raise_cost_only_their_row():
    stage = Stage(spoilt=("bad",))
    good, bad = stage.add("good", 20), stage.add("bad", 20)
    stage.turns()
    assert isinstance(bad.made[0], BakeoffError)
    assert text(good) == alone("good", 20)


def test_too_little_memory_costs_time_and_no_text():
    def breaks(seqs):
        return Short() if len(seqs) > 2 else None

    stage = Stage(walker=Walker(breaks=breaks))
    sinks = [stage.add(f"r{at}", 30) for at in range(6)]
    stage.turns()
    assert [text(sink) for sink in sinks] == [alone(f"r{at}", 30) for at in range(6)]
    assert stage.scheduler.pace.rows <= 3


def test_a_row_that_does_not_fit_alone_fails_and_the_others_go_on():
    def breaks(seqs):
        return Short() if any(seq.row.id == "huge" for seq in seqs) else None

    stage = Stage(walker=Walker(breaks=breaks))
    good, huge = stage.add("good", 20), stage.add("huge", 20, length=50)
    stage.turns()
    assert isinstance(huge.made[0], OutOfMemory)
    assert text(good) == alone("good", 20)


def test_all_fail_when_the_engine_cannot_go_on():
    stage = Stage(replace(ROOM, rows=2))
    sinks = [stage.add(f"r{at}", 30) for at in range(5)]
    stage.turns(3)
    stage.scheduler.fail(EngineFailed("broken"))
    assert all(isinstance(sink.made[0], EngineFailed) for sink in sinks)
    assert stage.turns() == 1
    after = stage.add("after", 5)
    stage.turns()
    assert text(after) == alone("after", 5)
