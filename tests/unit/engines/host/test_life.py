"""A host lives as long as its parent, and when it dies everybody who waits is told at once."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from bakeoff.core.errors import EngineClosed, EngineLost, ModelLoadFailed, OutOfMemory
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion, Failure
from bakeoff.core.requests import GenerateRequest, GenerationParams, Text
from bakeoff.engines import describe
from bakeoff.engines.host import process as hosts
from bakeoff.engines.host.codec import Codec
from bakeoff.engines.host.hosted import HostedEngine, open_hosted
from bakeoff.engines.host.methods import Opening
from bakeoff.engines.host.process import HostProcess, start
from bakeoff.engines.host.wire import Frame, Unpacker, packed
from bakeoff.engines.options import EngineOptions

WITHIN = 60.0
AT_ONCE = 1.0


class Started:
    """Starts hosts and remembers them."""

    def __init__(self, **said):
        self.hosts: list[HostProcess] = []
        self._said = said

    def __call__(self):
        self.hosts.append(start(**self._said))
        return self.hosts[-1]

    @property
    def last(self):
        return self.hosts[-1].process

    def gone(self):
        return [host.process.poll() is not None for host in self.hosts]


def opening(uri="fake://echo"):
    return Opening("fake", describe(ModelRef.parse(uri)), EngineOptions())


def asked(count, text="hello"):
    return [GenerateRequest(f"r{at}", Text(text)) for at in range(count)]


def hosted(work, uri="fake://echo", **said):
    """Run `work(engine, started)`; every process is gone afterwards."""
    started = Started(**said)

    async def check():
        engine = await HostedEngine.open(opening(uri), started)
        try:
            await work(engine, started)
        finally:
            await engine.close()
        assert all(started.gone())

    asyncio.run(asyncio.wait_for(check(), WITHIN))


@pytest.mark.parametrize("unix", [True, False])
def test_it_answers_over_either_kind_of_socket_and_ends_with_its_engine(unix):
    before = set(Path(tempfile.gettempdir()).glob("bakeoff-host-*"))

    async def work(engine, started):
        assert [o.text for o in await engine.generate(asked(3))] == ["hello"] * 3
        kind = started.hosts[0].connection.family
        assert kind == (socket.AF_UNIX if unix else socket.AF_INET)
        assert "token" not in " ".join(psutil.Process(started.last.pid).cmdline())
        assert started.hosts[0].token not in " ".join(psutil.Process(started.last.pid).cmdline())

    hosted(work, unix=unix)
    assert set(Path(tempfile.gettempdir()).glob("bakeoff-host-*")) == before


def test_the_socket_is_for_its_owner_alone(monkeypatch):
    seen = []

    def looking(at, address):
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in (at.parent, at))
        return connected(at, address)

    connected = hosts._connected
    monkeypatch.setattr(hosts, "_connected", looking)
    start().stop()
    assert seen == [0o700, 0o600]


def test_a_killed_host_ends_every_waiting_call_at_once_and_the_next_starts_another():
    async def work(engine, started):
        async def streamed():
            return [chunk async for chunk in engine.stream(asked(1, "a" * 50)[0])]

        waits = [
            asyncio.create_task(engine.generate(asked(20))),
            asyncio.create_task(streamed()),
        ]
        await asyncio.sleep(0.2)
        assert not any(task.done() for task in waits)
        started.last.kill()
        began = time.monotonic()
        completed, stream = await asyncio.gather(*waits, return_exceptions=True)
        assert time.monotonic() - began < AT_ONCE
        for failure in completed:
            assert isinstance(failure, Failure)
            assert (failure.code, failure.retryable) == (EngineLost.code, True)
            assert "SIGKILL" in failure.message
        assert isinstance(stream, EngineLost)
        outcomes, text = await asyncio.gather(
            engine.generate([GenerateRequest("again", Text("x"))]), engine.decode([65])
        )
        assert isinstance(outcomes[0], Completion)
        assert text == "A"
        assert len(started.hosts) == 2, "all who wait share one start"

    hosted(work, "fake://echo?delay=1.5")


def test_what_was_answered_is_kept_and_what_comes_later_fails():
    async def work(engine, started):
        more = asyncio.Event()

        async def source():
            for request in asked(8):
                yield request
            await more.wait()
            for at in range(1000):
                yield GenerateRequest(f"late{at}", Text("x"))

        seen = []
        async for outcome in engine.complete(source()):
            seen.append(outcome)
            if len(seen) == 8:
                started.last.kill()
                started.last.wait()
                more.set()
        assert [type(one) for one in seen[:8]] == [Completion] * 8
        assert [one.id for one in seen[8:]] == [f"late{at}" for at in range(1000)]
        assert {one.code for one in seen[8:]} == {EngineLost.code}

    hosted(work)


def test_choices_that_are_missing_make_one_failure():
    async def work(engine, started):
        outcomes = engine.complete([GenerateRequest("three", Text("x"), GenerationParams(n=3))])
        waiting = asyncio.create_task(anext(outcomes))
        await asyncio.sleep(0.2)
        started.last.kill()
        assert (await waiting).code == EngineLost.code
        assert [one async for one in outcomes] == []

    hosted(work, "fake://echo?delay=1.5")


def test_a_source_that_raises_is_heard_after_what_it_gave():
    async def work(engine, started):
        async def source():
            for request in asked(3):
                yield request
            raise LookupError("no more rows")

        seen = []
        with pytest.raises(LookupError, match="no more rows"):
            async for outcome in engine.complete(source()):
                seen.append(outcome.id)
        assert sorted(seen) == ["r0", "r1", "r2"]

    hosted(work)


def test_a_value_that_cannot_be_sent_costs_only_its_own_request():
    async def work(engine, started):
        wrong = GenerateRequest("wrong", object())
        outcomes = await engine.generate([*asked(2), wrong])
        assert [type(one) for one in outcomes] == [Completion, Completion, Failure]
        assert "cannot be sent" in outcomes[2].message

    hosted(work)


def test_closing_ends_what_waits_and_the_process():
    async def work(engine, started):
        waiting = asyncio.create_task(engine.encode("x"))
        await engine.close()
        await asyncio.gather(waiting, return_exceptions=True)
        assert all(started.gone())
        assert [o.code for o in await engine.generate(asked(2))] == [EngineClosed.code] * 2
        with pytest.raises(EngineClosed):
            await engine.encode("x")
        with pytest.raises(EngineClosed):
            engine.unsupported(asked(1)[0])

    hosted(work)


def test_an_engine_that_was_lost_is_closed_like_any_other():
    async def work(engine, started):
        started.last.kill()
        while not engine._remote.lost:
            await asyncio.sleep(0.001)
        await engine.close()
        with pytest.raises(EngineClosed):
            await engine.encode("x")
        assert len(started.hosts) == 1

    hosted(work)


def test_a_caller_that_goes_away_does_not_stop_the_start():
    async def work(engine, started):
        started.last.kill()
        while not engine._remote.lost:
            await asyncio.sleep(0.001)
        first = asyncio.create_task(engine.encode("a"))
        while not engine._again:
            await asyncio.sleep(0)
        first.cancel()
        assert await engine.encode("a") == [97]
        assert len(started.hosts) == 2

    hosted(work)


def test_signals_of_the_terminal_leave_it_alone():
    async def work(engine, started):
        for number in (signal.SIGINT, signal.SIGTERM):
            started.last.send_signal(number)
        assert await engine.encode("a") == [97]

    hosted(work)


def test_a_model_that_does_not_load_says_why_and_leaves_no_process():
    started = Started()
    with pytest.raises(OutOfMemory, match="told to run out of memory"):
        asyncio.run(HostedEngine.open(opening("fake://echo?load=memory"), started))
    assert started.gone() == [True]


def test_a_cancelled_start_leaves_no_process(monkeypatch):
    started = Started()

    async def check():
        opening_now = asyncio.create_task(HostedEngine.open(opening(), started))
        await asyncio.sleep(0.05)
        opening_now.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening_now

    asyncio.run(check())
    assert started.gone() == [True]


def test_a_process_that_does_not_come_up_is_told(monkeypatch):
    with pytest.raises(ModelLoadFailed, match="did not come up within 0 s"):
        start(within=0.0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ModelLoadFailed, match="ended with status 1"):
        start()


@pytest.mark.parametrize(
    "body", [{"token": "wrong", "version": "x"}, {}, None, [], {"token": "ü" * 40}]
)
def test_a_stranger_is_cut_off(body):
    host = start()
    try:
        host.connection.sendall(packed(Frame("hello", 1, body)))
        assert host.connection.recv(1) == b""
    finally:
        host.stop()


def test_another_version_is_told_so():
    host = start()
    try:
        hello = Frame("hello", 1, {"token": host.token, "version": "0.0 x"})
        host.connection.sendall(packed(hello))
        (frame,) = Unpacker().frames(host.connection.recv(10_000))
        error = Codec().error(frame.body)
        assert isinstance(error, EngineClosed)
        assert "0.0 x" in error.message and "restart" in error.message
    finally:
        host.stop()


PARENT = """
import asyncio
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe
from bakeoff.engines.host import open_hosted

async def main():
    engine = await open_hosted("fake", describe(ModelRef.parse("fake://echo")))
    print(engine._remote._connection._host.process.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_no_host_outlives_a_killed_parent():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        try:
            host = psutil.Process(int(parent.stdout.readline()))
            assert host.is_running()
        finally:
            parent.kill()
        host.wait(WITHIN)
        assert not host.is_running()


def test_the_environment_is_passed_on(monkeypatch):
    monkeypatch.setenv("SAID_TO_PARENT", "yes")

    async def check():
        engine = await open_hosted("fake", describe(ModelRef.parse("fake://echo")))
        pid = engine._remote._connection._host.process.pid
        assert psutil.Process(pid).environ()["SAID_TO_PARENT"] == "yes"
        assert psutil.Process(pid).ppid() == os.getpid()
        await engine.close()

    asyncio.run(check())
