"""Servers that are measured: bakeoff, and others where they are installed. One at a time."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil


@dataclass(frozen=True)
class Peer:
    """A server, and how it is started.

    Attributes:
        name: as the table shows it.
        command: with `{model}`, `{port}` and `{threads}` to be filled in.
        needs: the package without which it is left out.
        environment: further variables.
        model: the name that requests give, where it is not the folder.
    """

    name: str
    command: tuple[str, ...]
    needs: str
    environment: dict[str, str] = field(default_factory=dict)
    model: str | None = None

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return importlib.util.find_spec(self.needs) is not None


BAKEOFF = Peer(
    "bakeoff",
    (str(Path(sys.executable).with_name("bakeoff")), "serve", "{model}", "--port", "{port}",
     "--threads", "{threads}", "--name", "bench"),
    "bakeoff",
    model="bench",
)  # fmt: skip
_SERVE = (str(Path(sys.executable).with_name("transformers")), "serve", "--port", "{port}")
PEERS = (
    Peer("transformers serve", _SERVE, "transformers"),
    Peer(
        "transformers serve --continuous-batching",
        (*_SERVE, "--continuous-batching"),
        "transformers",
    ),
    Peer(
        "vLLM",
        (sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", "{model}",
         "--port", "{port}", "--dtype", "float32", "--enforce-eager"),
        "vllm",
        {"VLLM_CPU_KVCACHE_SPACE": "2"},
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Running:
    """A server that answers.

    Attributes:
        url: where.
        model: the name that requests give.
        process: the one that was started.
    """

    url: str
    model: str
    process: psutil.Process

    def memory(self) -> float:
        """Resident megabytes of it and its children, now."""
        family = [self.process, *self.process.children(recursive=True)]
        held = [int(one.memory_info().rss) for one in family if one.is_running()]
        return sum(held) / 1e6


@contextmanager
def serving(
    peer: Peer, model: Path, threads: int, log: Path, more: Sequence[str] = ()
) -> Iterator[Running]:
    """Start a server, wait until it answers, and end it.

    Raises:
        RuntimeError: it ended by itself, or did not answer within five minutes; names the log.
    """
    port = _free_port()
    words = {"model": str(model), "port": str(port), "threads": str(threads)}
    command = [*(part.format(**words) for part in peer.command), *more]
    environment = {**os.environ, **peer.environment, "OMP_NUM_THREADS": str(threads)}
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(process, f"{url}/v1/models", log)
        yield Running(url, peer.model or str(model), psutil.Process(process.pid))
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}: see {log}")
        try:
            if httpx.get(url, timeout=5).status_code < 500:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise RuntimeError(f"the server did not answer: see {log}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
