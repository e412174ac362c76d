"""The compute thread, and the detection of looped texts."""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.core.errors import EngineClosed
from bakeoff.engines.loops import LONGEST_PIECE, Loops, ends_in_loop, looped
from bakeoff.engines.thread import ComputeThread


def test_calls_run_in_order_on_one_thread_and_errors_come_back():
    async def check() -> None:
        thread = ComputeThread("test")
        names = [await thread.run(lambda: threading.current_thread().name) for _ in range(3)]
        assert names == ["test"] * 3
        order: list[int] = []
        await asyncio.gather(*(thread.run(lambda n=n: order.append(n)) for n in range(20)))
        assert order == list(range(20))
        with pytest.raises(ZeroDivisionError):
            await thread.run(lambda: 1 / 0)
        thread.close()
        await thread.join()

    asyncio.run(check())


def test_closing_fails_what_waits_and_lets_the_running_call_end():
    async def check() -> None:
        thread = ComputeThread("test")
        begun, go_on = threading.Event(), threading.Event()

        def slow() -> str:
            begun.set()
            go_on.wait(10)
            return "done"

        running, waiting = thread.submit(slow), thread.submit(lambda: "never")
        await asyncio.to_thread(begun.wait, 10)
        thread.close()
        thread.close()
        go_on.set()
        assert await asyncio.wrap_future(running) == "done"
        with pytest.raises(EngineClosed):
            await asyncio.wrap_future(waiting)
        with pytest.raises(EngineClosed):
            thread.submit(lambda: None)
        await thread.join()

    asyncio.run(check())


def test_a_cancelled_call_is_not_made():
    async def check() -> None:
        thread = ComputeThread("test")
        go_on = threading.Event()
        thread.submit(lambda: go_on.wait(10))
        called: list[int] = []
        dropped = thread.submit(lambda: called.append(1))
        dropped.cancel()
        go_on.set()
        await thread.run(lambda: None)
        assert called == []
        thread.close()
        await thread.join()

    asyncio.run(check())


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([], False),
        ([5] * 19, False),
        ([5] * 20, True),
        ([1, 2] * 19 + [1], False),
        ([9, 9, *([1, 2] * 20), 7], True),
        (list(range(8)) * 20, True),
        (list(range(8)) * 19, False),
        (list(range(9)) * 30, False),
        (list(range(500)), False),
    ],
)
def test_looped(ids, expected):
    assert looped(ids) is expected


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=8),
    st.lists(st.integers(4, 9), max_size=10),
    st.lists(st.integers(4, 9), max_size=10),
)
def test_a_loop_is_found_wherever_it_stands(unit, before, after):
    assert looped([*before, *(unit * 20), *after])


def _loops_by_hand(ids, repeats):
    """Whether the text ends in a piece that stands so often in a row, looked at piece by piece."""
    sizes = range(1, min(LONGEST_PIECE, len(ids) // repeats) + 1)
    return any(ids[-size * repeats :] == ids[-size:] * repeats for size in sizes)


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=9),
    st.lists(st.integers(0, 2), max_size=9),
    st.integers(2, 5),
    st.integers(1, 40),
)
def test_a_loop_is_seen_as_soon_as_it_is_one(unit, before, repeats, length):
    loops, ids = Loops(repeats), []
    for token in [*before, *(unit * length)][:60]:
        ids.append(token)
        expected = _loops_by_hand(ids, repeats)
        assert loops.push(token) == expected
        assert ends_in_loop(ids, repeats) == expected


@pytest.mark.parametrize("size", [1, LONGEST_PIECE - 1, LONGEST_PIECE, LONGEST_PIECE + 1])
def test_pieces_up_to_a_length_count(size):
    assert ends_in_loop([7, *(list(range(size)) * 3)], 3) == (size <= LONGEST_PIECE)
