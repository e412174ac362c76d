"""Models that are loaded when they are asked for and unloaded when they are idle."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from bakeoff.core.errors import (
    EngineClosed,
    InvalidRequest,
    ModelLoadFailed,
    OutOfMemory,
    UnsupportedOption,
)
from bakeoff.serving.models import Entry, Keep, ModelTable
from bakeoff.serving.problems import Refusal
from tests.serving.serverthread import WITHIN, Server, Watched, fake, until, watched

BODY = {"messages": [{"role": "user", "content": "hello"}]}


class Clock:
    """Seconds that go by when a test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Stock:
    """Entries whose openings and closings are counted."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.holding: dict[str, asyncio.Event] = {}
        self.errors: dict[str, list[Exception]] = {}

    def entry(self, name: str, size: int = 0, **more) -> Entry:
        stock = self

        class Engine(Watched):
            async def close(self) -> None:
                stock.closed.append(name)

        async def opener():
            stock.opened.append(name)
            if name in stock.holding:
                await stock.holding[name].wait()
            if stock.errors.get(name):
                raise stock.errors[name].pop(0)
            return Engine("fake://echo", name)

        return replace(fake("fake://echo", name), opener=opener, bytes=size, **more)


@pytest.fixture
def stock() -> Stock:
    return Stock()


def loaded(table: ModelTable) -> list[str]:
    return [one.name for one in table.served]


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def use(table: ModelTable, name: str) -> None:
    (await table.lease(name)).release()


def test_only_the_first_and_the_pinned_are_loaded_at_the_start(stock):
    async def story():
        table = ModelTable(
            [stock.entry("a"), stock.entry("b"), stock.entry("c", pinned=True)], Keep()
        )
        await table.load()
        assert stock.opened == ["a", "c"]
        assert table.states() == {"a": "loaded", "b": "unloaded", "c": "loaded"}
        await use(table, "b")
        assert loaded(table) == ["a", "b", "c"]
        await table.close()
        assert sorted(stock.closed) == ["a", "b", "c"]

    asyncio.run(story())


def test_many_that_ask_first_load_once(stock):
    async def story():
        stock.holding["b"] = asyncio.Event()
        table = ModelTable([stock.entry("a"), stock.entry("b")])
        asking = [asyncio.create_task(table.lease("b")) for _ in range(50)]
        await turns()
        assert table.waiting == 50 and table.states()["b"] == "loading"
        for task in asking[::2]:
            task.cancel()
        stock.holding["b"].set()
        held = [one for one in await asyncio.gather(*asking, return_exceptions=True)]
        assert stock.opened == ["b"]
        leases = [one for one in held if not isinstance(one, BaseException)]
        assert len(leases) == 25 and len({id(one.served) for one in leases}) == 1
        for lease in leases:
            lease.release()
            lease.release()
        assert table._slots["b"].users == 0

    asyncio.run(story())


def test_a_load_nobody_waits_for_any_more_makes_no_room(stock):
    async def story():
        keep = Keep(memory=10)
        table = ModelTable([stock.entry("a", 10), stock.entry("b", 10), stock.entry("c")], keep)
        held = await table.lease("a")
        waits = asyncio.create_task(table.lease("b"))
        gone = asyncio.create_task(table.lease("c"))
        await turns()
        gone.cancel()
        await turns()
        held.release()
        (await waits).release()
        await turns()
        assert stock.opened == ["a", "b"]

    asyncio.run(story())


def test_idle_models_go_after_their_time_and_come_back(stock):
    async def story():
        clock = Clock()
        keep = Keep(idle=60, clock=clock)
        table = ModelTable(
            [stock.entry("a"), stock.entry("b"), stock.entry("p", pinned=True)], keep
        )
        await table.load()
        await use(table, "b")
        held = await table.lease("a")
        clock.now = 59
        await table.keeper.sweep()
        assert loaded(table) == ["a", "b", "p"]
        clock.now = 61
        await table.keeper.sweep()
        assert loaded(table) == ["a", "p"], "what a request holds stays"
        held.release()
        clock.now = 120
        await table.keeper.sweep()
        assert loaded(table) == ["a", "p"], "idle only since its request ended"
        clock.now = 122
        await table.keeper.sweep()
        assert loaded(table) == ["p"]
        await use(table, "a")
        assert stock.opened.count("a") == 2

    asyncio.run(story())


def test_memory_is_made_by_unloading_the_one_idle_longest(stock):
    async def story():
        clock = Clock()
        entries = [stock.entry(name, 10) for name in "abc"] + [stock.entry("p", 5, pinned=True)]
        table = ModelTable(entries, Keep(memory=25, clock=clock))
        await table.load()
        for at, name in enumerate(["b", "a", "c"], start=1):
            clock.now = at
            await use(table, name)
        assert loaded(table) == ["a", "c", "p"]
        assert stock.closed == ["b"]

    asyncio.run(story())


def test_a_model_in_use_is_waited_for_and_nobody_starves(stock):
    async def story():
        table = ModelTable([stock.entry("a", 10), stock.entry("b", 10)], Keep(memory=10))
        first = await table.lease("a")
        second = asyncio.create_task(table.lease("b"))
        await turns()
        third = asyncio.create_task(table.lease("a"))  # comes after b and has to wait for it
        await turns()
        assert (loaded(table), stock.opened) == (["a"], ["a"])
        first.release()
        held = await second
        await turns()
        assert loaded(table) == ["b"] and not third.done()
        held.release()
        assert (await third).served.name == "a"
        assert stock.opened == ["a", "b", "a"]

    asyncio.run(story())


def test_a_slow_load_stops_no_other_model(stock):
    async def story():
        stock.holding["slow"] = asyncio.Event()
        entries = [stock.entry("a", 1), stock.entry("slow", 1), stock.entry("b", 1)]
        table = ModelTable(entries, Keep(memory=3))
        await table.load()
        slow = asyncio.create_task(table.lease("slow"))
        await turns()
        for name in ("a", "b"):
            await asyncio.wait_for(use(table, name), WITHIN)
        stock.holding["slow"].set()
        (await slow).release()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ModelLoadFailed("weights are damaged"), 503, "model_load_failed"),
        (UnsupportedOption("no such device", option="device"), 400, "unsupported_option"),
        (RuntimeError("secret inside"), 503, "model_load_failed"),
    ],
)
def test_a_failed_load_is_told_and_tried_again_later(stock, error, status, code):
    async def story():
        clock = Clock()
        stock.errors["b"] = [error]
        table = ModelTable([stock.entry("a"), stock.entry("b")], Keep(clock=clock))
        await table.load()
        for _ in range(2):
            with pytest.raises(Refusal) as refused:
                await table.lease("b")
            problem = refused.value.problem
            assert (problem.status, problem.code) == (status, code)
            assert problem.message.startswith("b cannot be loaded: ")
            assert "secret" not in problem.message
        assert stock.opened == ["a", "b"], "not tried again at once"
        assert table.states()["b"] == "failed"
        clock.now = 6
        await use(table, "b")
        await use(table, "a")

    asyncio.run(story())


def test_when_memory_runs_out_idle_models_make_room(stock):
    async def story():
        stock.errors["c"] = [OutOfMemory("x"), OutOfMemory("x")]
        table = ModelTable([stock.entry(name) for name in "abc"])
        held = await table.lease("b")
        await use(table, "a")
        with pytest.raises(Refusal):
            await table.lease("c")
        assert (stock.closed, loaded(table)) == (["a"], ["b"])
        held.release()

    asyncio.run(story())


def test_an_engine_that_ended_is_replaced(stock):
    async def story():
        table = ModelTable([stock.entry("a")])
        held = await table.lease("a")
        table.lost(held.served)
        asking = asyncio.create_task(table.lease("a"))
        await turns()
        assert not asking.done()
        held.release()
        assert (await asking).served is not held.served
        table.lost(held.served)  # known already
        assert loaded(table) == ["a"] and stock.opened == ["a", "a"]

    asyncio.run(story())


def test_a_server_that_stops_ends_those_who_wait(stock):
    async def story():
        stock.holding["b"] = asyncio.Event()
        table = ModelTable([stock.entry("a"), stock.entry("b")])
        waits = asyncio.create_task(table.lease("b"))
        await turns()
        await table.close()
        with pytest.raises(EngineClosed):
            await waits

    asyncio.run(story())


@pytest.mark.parametrize("pinned", [True, False])
def test_what_can_never_fit_is_refused_at_once(stock, pinned):
    entries = [stock.entry("a", 10, pinned=True), stock.entry("b", 11, pinned=pinned)]
    with pytest.raises(InvalidRequest, match="--max-memory is 20 bytes"):
        ModelTable(entries, Keep(memory=20))


# behind HTTP


@pytest.fixture
def three(opened) -> Server:
    entries = [
        fake("fake://echo", "first"),
        replace(fake("fake://upper", "second"), aliases=("local-second",)),
        fake("fake://echo?load=missing", "broken"),
    ]
    return opened(*entries)


def test_lists_name_what_is_there_and_what_is_loaded(three):
    def listed():
        data = three.http.get("/v1/models").json()["data"]
        return {one["id"]: one["meta"]["loaded"] for one in data}

    def running():
        return [one["name"] for one in three.http.get("/api/ps").json()["models"]]

    names = ["first", "second", "local-second", "broken"]
    assert listed() == dict.fromkeys(names, False) | {"first": True}
    assert [one["name"] for one in three.http.get("/api/tags").json()["models"]] == names
    assert running() == ["first"]
    assert three.post("/api/show", {"model": "second:latest"}).status_code == 200
    assert running() == ["first"], "to be looked at loads nothing"
    answer = three.post("/v1/chat/completions", BODY | {"model": "local-second"}).json()
    assert answer["choices"][0]["message"]["content"] == "HELLO"
    assert running() == ["first", "second", "local-second"]
    assert three.metric("bakeoff_models_loaded") == 2


@pytest.mark.parametrize("stream", [True, False])
def test_a_model_that_cannot_be_loaded_costs_its_own_requests(three, stream):
    refused = three.post("/v1/chat/completions", BODY | {"model": "broken", "stream": stream})
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "engine_closed"
    assert "broken cannot be loaded" in refused.json()["error"]["message"]
    assert three.post("/v1/chat/completions", BODY).status_code == 200
    health = three.http.get("/health")
    assert (health.status_code, health.json()["models"]["broken"]) == (200, "failed")


def test_requests_hold_their_model_to_the_end_of_their_stream(opened):
    slow = Watched("fake://echo?delay=30", "slow")
    server = opened(watched(slow, "fake://echo?delay=30"), fake("fake://echo", "other"))
    text = BODY | {"model": "slow", "stream": True}
    with server.http.stream("POST", "/v1/chat/completions", json=text) as answer:
        lines = answer.iter_lines()  # httpx hangs up when it is dropped
        assert "assistant" in next(lines)
        assert server.desk.models._slots["slow"].users == 1
    assert slow.left.wait(WITHIN)
    assert server.post("/v1/chat/completions", BODY | {"model": "other"}).status_code == 200
    # the answer is whole before the request is over
    until(lambda: server.desk.models._slots["other"].users == 0)


def test_a_full_model_leaves_the_others_their_places(opened):
    text = "fake://words?delay=60"
    engine = Watched(text, "slow")
    server = opened(watched(engine, text), fake("fake://echo", "quick"), running=1, queue=0)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(server.post, "/v1/chat/completions", BODY | {"model": "slow"})
        assert engine.entered.acquire(timeout=WITHIN)
        full = server.post("/v1/chat/completions", BODY | {"model": "slow"})
        assert full.status_code == 429
        assert server.post("/v1/chat/completions", BODY | {"model": "quick"}).status_code == 200
        slots = [server.http.get("/slots", params={"model": m}).json() for m in ("slow", "quick")]
        assert [one[0]["is_processing"] for one in slots] == [True, False]
        server.call(server.desk.cut)
        assert first.result(WITHIN).status_code == 503
