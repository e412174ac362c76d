"""`bakeoff serve` with its model in another process, which may be killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from tests.zoo import zoo_inputs, zoo_path

WITHIN = 120.0
TOLD_WITHIN = 5.0
"""Seconds; a second on a machine that does nothing else."""


class Server:
    """A running `bakeoff serve`."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "bakeoff", "serve", *arguments, "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r" at (http://\S+);", line):
                self.url = found[1]
                return
        raise AssertionError("it did not start")

    def hosts(self):
        children = psutil.Process(self.process.pid).children()
        return [one for one in children if "bakeoff.engines.host" in one.cmdline()]

    def ask(self, **said):
        return httpx.post(f"{self.url}/v1/completions", json=said, timeout=WITHIN)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def killed(host):
    """Kill it once what is sent meanwhile has reached it."""
    time.sleep(0.5)
    host.send_signal(signal.SIGKILL)
    return time.monotonic()


@pytest.mark.torch
def test_a_killed_host_costs_what_runs_and_nothing_else():
    prompt = zoo_inputs("llama", 1)[0]
    with Server(str(zoo_path("llama")), "--threads", "1") as server:
        before = server.ask(prompt=prompt, max_tokens=8).json()["choices"][0]["text"]
        (host,) = server.hosts()
        assert host.memory_info().rss > psutil.Process(server.process.pid).memory_info().rss
        host.send_signal(signal.SIGSTOP)  # as if it computed for long
        with ThreadPoolExecutor(2) as pool:
            plain = pool.submit(server.ask, prompt=prompt, max_tokens=8)
            stream = pool.submit(server.ask, prompt=prompt, max_tokens=8, stream=True)
            began = killed(host)
            answer, events = plain.result(), stream.result()
        assert time.monotonic() - began < TOLD_WITHIN
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        error = answer.json()["error"]
        assert error["code"] == "engine_lost"
        assert "SIGKILL" in error["message"] and "again" in error["message"]
        assert "engine_lost" in events.text
        assert server.process.poll() is None
        assert httpx.get(f"{server.url}/health").status_code == 200
        again = server.ask(prompt=prompt, max_tokens=8)
        assert again.json()["choices"][0]["text"] == before
        (other,) = server.hosts()
        assert other.pid != host.pid
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(WITHIN) == 0
        assert not other.is_running()


def test_a_killed_server_leaves_no_process():
    with Server("fake://echo", "fake://upper", "--pin", "upper", "--own-process") as server:
        assert server.ask(prompt="x").json()["choices"][0]["text"] == "x"
        hosts = server.hosts()
        assert len(hosts) == 2
        server.process.kill()
        _, alive = psutil.wait_procs(hosts, WITHIN)
        assert alive == []


def test_a_signal_to_all_processes_lets_requests_end():
    """As Ctrl-C in a terminal, or a service manager, send it."""
    with Server("fake://echo?delay=2", "--own-process") as server, ThreadPoolExecutor(1) as pool:
        text = "a" * 40
        running = pool.submit(server.ask, prompt=text, max_tokens=100, stream=True)
        (host,) = server.hosts()
        time.sleep(0.5)
        for pid in (host.pid, server.process.pid):
            os.kill(pid, signal.SIGTERM)
        events = [line[6:] for line in running.result().text.splitlines() if line]
        pieces = [json.loads(line)["choices"] for line in events if line != "[DONE]"]
        assert "".join(one[0]["text"] for one in pieces if one) == text
        assert server.process.wait(WITHIN) == 0


@pytest.mark.parametrize(
    ("flags", "hosts"), [(["--in-process"], 0), ([], 0), (["--own-process"], 1)]
)
def test_what_computes_nothing_gets_a_process_only_on_demand(flags, hosts):
    with Server("fake://echo", *flags) as server:
        assert len(server.hosts()) == hosts
