"""Clients that leave, queues that are full, requests that take too long, servers that stop."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.serving.serverthread import WITHIN, Watched, events, fake, until, watched

SLOW = "fake://words?delay=60"
BODY = {"messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def slow(opened):
    """A server whose only model takes a minute for a text, and one place for requests."""

    def open_slow(**options):
        engine = Watched(SLOW, "slow")
        return opened(watched(engine, SLOW), **{"running": 1, **options}), engine

    return open_slow


def leave(server, body, after=b""):
    """Send a chat and close the connection once `after` was read."""
    host, port = server.url.removeprefix("http://").split(":")
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(data)}\r\n"
    with socket.create_connection((host, int(port)), timeout=WITHIN) as connection:
        connection.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + data)
        read = b""
        while after and after not in read:
            read += connection.recv(4096)
        yield
    yield


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_frees_its_place(slow, stream):
    server, engine = slow()
    client = leave(server, BODY | {"stream": stream})
    next(client)
    assert engine.entered.acquire(timeout=WITHIN)
    next(client)
    assert engine.left.wait(WITHIN)
    assert engine.running == 0
    until(lambda: server.metric("bakeoff_requests_running") == 0)
    assert server.metric("bakeoff_requests_cancelled_total") == 1


def test_leaving_after_some_text_cancels_too(opened):
    engine = Watched("fake://echo?delay=30", "slow")
    server = opened(watched(engine, "fake://echo?delay=30"))
    text = {"messages": [{"role": "user", "content": "x" * 3000}], "stream": True}
    client = leave(server, text, after=b'"content":"x"')
    next(client)
    next(client)
    assert engine.left.wait(WITHIN)


def test_who_leaves_the_queue_never_reaches_the_engine(slow):
    server, engine = slow()
    first, second = leave(server, BODY), leave(server, BODY)
    next(first)
    assert engine.entered.acquire(timeout=WITHIN)
    next(second)
    until(lambda: server.metric("bakeoff_requests_waiting") == 1)
    next(second)
    until(lambda: server.metric("bakeoff_requests_waiting") == 0)
    next(first)
    assert engine.left.wait(WITHIN)
    assert len(engine.asked) == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_full_queue_says_when_to_come_back(slow, stream):
    server, engine = slow(queue=0)
    client = leave(server, BODY)
    next(client)
    assert engine.entered.acquire(timeout=WITHIN)
    refused = server.post("/v1/chat/completions", BODY | {"stream": stream})
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["code"] == "server_busy"
    next(client)


@pytest.mark.parametrize("stream", [True, False])
def test_a_request_that_takes_too_long_fails_by_its_deadline(slow, stream):
    server, engine = slow(deadline=0.1)
    refused = server.post("/v1/chat/completions", BODY | {"stream": stream})
    assert (refused.status_code, refused.json()["error"]["code"]) == (504, "deadline_exceeded")
    assert refused.headers["x-should-retry"] == "false"
    assert engine.left.wait(WITHIN)


def test_an_error_after_the_first_byte_is_an_event(opened):
    text = "fake://echo?delay=100"
    engine = Watched(text, "slow")
    server = opened(watched(engine, text), deadline=0.5)
    body = {"messages": [{"role": "user", "content": "x" * 10_000}], "stream": True}
    answer = server.post("/v1/chat/completions", body)
    assert answer.status_code == 200
    last = answer.text.rstrip().rpartition("data: ")[2]
    assert json.loads(last)["error"]["code"] == "deadline_exceeded"


def test_a_waiting_stream_shows_that_it_is_alive(opened, monkeypatch):
    monkeypatch.setattr("bakeoff.serving.events.HEAD_START", 0.05)
    monkeypatch.setattr("bakeoff.serving.events.PULSE", 0.05)
    server = opened(fake("fake://echo?delay=1", "echo"))
    body = {"messages": [{"role": "user", "content": "ab"}], "stream": True}
    answer = server.post("/v1/chat/completions", body)
    lines = answer.text.split("\n\n")
    assert lines[0] == ": waiting"
    told = events("\n\n".join(line for line in lines if not line.startswith(":")))
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in told) == "ab"


def test_lanes_go_one_before_the_other(opened):
    text = "fake://echo?delay=0.2&fim=1"
    engine = Watched(text, "slow")
    server = opened(watched(engine, text), running=1)
    asked = [
        ("/v1/chat/completions", BODY),
        ("/v1/completions", {"prompt": ["batch"]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "chat"}]}),
        ("/v1/completions", {"prompt": "edit", "suffix": "x"}),
    ]
    with ThreadPoolExecutor(4) as pool:
        jobs = []
        for waiting, (path, body) in enumerate(asked):
            jobs.append(pool.submit(server.post, path, body))
            if not waiting:
                assert engine.entered.acquire(timeout=WITHIN)
            until(lambda at=waiting: server.metric("bakeoff_requests_waiting") == at)
        assert [job.result(WITHIN).status_code for job in jobs] == [200] * 4
    assert [request.lane for request in engine.asked] == ["chat", "edit", "chat", "batch"]


def test_a_server_that_stops_cuts_what_still_runs(opened):
    text = "fake://echo?delay=100"
    engine = Watched(text, "slow")
    server = opened(watched(engine, text))
    body = {"messages": [{"role": "user", "content": "é" * 10_000}], "stream": True}
    with httpx.Client(base_url=server.url, timeout=WITHIN) as http:
        with http.stream("POST", "/v1/chat/completions", json=body) as answer:
            lines = answer.iter_lines()
            assert "assistant" in next(lines)
            server.call(server.desk.cut)
            rest = [line for line in lines if line]
    assert json.loads(rest[-1].removeprefix("data: "))["error"]["code"] == "engine_closed"
    refused = server.post("/v1/chat/completions", body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "engine_closed")
    assert server.http.get("/health").status_code == 503
