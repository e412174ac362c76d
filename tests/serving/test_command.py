"""`bakeoff serve` from outside."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from bakeoff.serving.options import ServeOptions
from bakeoff.serving.server import _bind

WITHIN = 60.0


def _begin(*arguments, **environment):
    command = [sys.executable, "-m", "bakeoff", "serve", *arguments]
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )


def _address(running):
    for line in running.stderr:
        if found := re.search(r"serving (.*) at (http://\S+);", line):
            return found[1], found[2]
    raise AssertionError("it did not start")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal(number, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("# of the team\nfrom-file\n")
    keys.chmod(0o600)
    running = _begin(
        "fake://echo", "fake://upper?kind=seq2seq", "--port", "0", "--name", "gpt-x=echo",
        "--api-key-file", str(keys), BAKEOFF_API_KEY="from-env",
    )  # fmt: skip
    try:
        names, url = _address(running)
        assert names == "echo, gpt-x, upper"
        for key in ("from-file", "from-env"):
            answer = httpx.post(
                f"{url}/v1/completions",
                json={"model": "gpt-x", "prompt": "hello"},
                headers={"authorization": f"Bearer {key}"},
            )
            assert answer.json()["choices"][0]["text"] == "hello"
        assert httpx.get(f"{url}/v1/models").status_code == 401
        running.send_signal(number)
        assert running.wait(WITHIN) == 0
    finally:
        running.kill()
        running.communicate()


def test_a_signal_lets_requests_end_and_cuts_the_rest():
    running = _begin("fake://echo?delay=100", "--port", "0", "--drain", "0.3")
    try:
        _, url = _address(running)
        body = {"prompt": "é" * 5000, "max_tokens": 20_000, "stream": True}
        with httpx.stream("POST", f"{url}/v1/completions", json=body, timeout=WITHIN) as answer:
            lines = answer.iter_lines()
            assert "é" in next(lines)
            running.send_signal(signal.SIGTERM)
            told = [line for line in lines if line]
        assert json.loads(told[-1].removeprefix("data: "))["error"]["code"] == "engine_closed"
        assert running.wait(WITHIN) == 0
    finally:
        running.kill()
        running.communicate()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["fake://nix"], 2, "unknown"),
        (["fake://echo", "fake://echo"], 2, "two models are called 'echo'"),
        (["fake://echo", "--host", "0.0.0.0"], 2, "--no-auth"),
        (["fake://echo", "--name", "a=b"], 2, "--name 'a=b'"),
        (["fake://echo", "fake://upper", "--name", "a"], 2, "NAME=MODEL"),
        (["fake://echo", "--api-key-file", "/no/such/file"], 2, "cannot be read"),
        (["fake://echo?context=10", "--max-model-len", "11"], 2, "at most 10"),
        (["fake://echo?load=memory", "--port", "0"], 1, "memory"),
        (["fake://echo", "--host", "192.0.2.1", "--no-auth"], 2, "--port"),
    ],
)
def test_a_mistake_is_one_line(arguments, status, said):
    done = _begin(*arguments)
    _, text = done.communicate(timeout=WITHIN)
    assert done.returncode == status
    last = text.strip().splitlines()[-1]
    assert last.startswith("error: ") and said in last


def test_answers_are_not_held_back():
    """Asyncio switches Nagle's algorithm off only for sockets that are named as TCP."""
    bound = _bind(ServeOptions(port=0))
    assert bound.proto == socket.IPPROTO_TCP
    bound.close()
