"""`bakeoff serve` under load: against other servers, against its bare engine, and at rest."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerateRequest, GenerationParams, Message, Messages
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from benchmarks.apart import apart
from benchmarks.load import Ask, Measured, Told, drive, mixed, percentile, summed
from benchmarks.models import smol_folder, t5_small
from benchmarks.peers import BAKEOFF, PEERS, Peer, Running, serving
from benchmarks.results import Result

CLIENTS = (1, 8, 32)
EACH = {1: 8, 8: 32, 32: 64}
"""Clients -> requests of the load."""
CONTINUOUS = "transformers serve --continuous-batching"
PROMISES = {
    (8, CONTINUOUS): 2.7,
    (8, "vLLM"): 1.35,
    (32, CONTINUOUS): 4.0,
    (32, "vLLM"): 1.3,
}
"""Clients, peer -> times its tokens a second."""


@dataclass(frozen=True)
class Seen:
    """A server under every load.

    Attributes:
        loads: number of clients -> what they saw.
        memory: most resident megabytes.
    """

    loads: dict[int, Measured]
    memory: float


def measure(threads: int, scale: float) -> Iterator[Result]:
    """Everything; peers where they are installed."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        model = smol_folder(place)
        yield from _against_peers(model, place, threads, scale)
        yield from _typing(model, place, threads, scale)
        yield from _encoder_decoder(place, threads, scale)
        yield from _at_rest(place, threads, scale)


def _against_peers(model: Path, place: Path, threads: int, scale: float) -> Iterator[Result]:
    ours = _seen(BAKEOFF, model, place, threads, scale)
    yield from _figures(BAKEOFF.name, ours)
    bare = apart(bare_engine, str(model), _load(8, scale), 8, threads)
    yield Result("8 clients: bakeoff / its engine in a loop", ours.loads[8].speed / bare, "x", 0.95)
    for peer in PEERS:
        if not peer.installed:
            continue
        theirs = _seen(peer, model, place, threads, scale)
        yield from _figures(peer.name, theirs)
        for clients in CLIENTS:
            name = f"{clients} clients: bakeoff / {peer.name}"
            ratio = ours.loads[clients].speed / theirs.loads[clients].speed
            yield Result(name, ratio, "x", PROMISES.get((clients, peer.name)))
        if peer.name == CONTINUOUS:
            first = ours.loads[8].first_p50 / theirs.loads[8].first_p50
            yield Result("8 clients: first token / theirs", first, "x", 0.45, "at most")
            memory = ours.memory / theirs.memory
            yield Result("peak memory / theirs", memory, "x", 1.0, "at most")


def _load(clients: int, scale: float) -> list[Ask]:
    return mixed(max(clients, int(EACH[clients] * scale)))


def _seen(peer: Peer, model: Path, place: Path, threads: int, scale: float) -> Seen:
    with serving(peer, model, threads, place / "log") as server, Peak(server) as peak:
        drive(server.url, server.model, mixed(2, seed=9), 1)
        loads = {
            clients: drive(server.url, server.model, _load(clients, scale), clients)
            for clients in CLIENTS
        }
    return Seen(loads, peak.memory)


def _figures(name: str, seen: Seen) -> Iterator[Result]:
    for clients, found in seen.loads.items():
        who = f"{name}, {clients} clients"
        yield Result(f"{who}: tokens a second", found.speed, "t/s")
        yield Result(f"{who}: first token, median", found.first_p50, "s")
        yield Result(f"{who}: first token, p95", found.first_p95, "s")
        yield Result(f"{who}: between pieces, p95", found.gap_p95, "s")
    yield Result(f"{name}: peak memory", seen.memory, "MB")


class Peak:
    """The most memory that a server held, looked at five times a second."""

    def __init__(self, server: Running) -> None:
        self.memory = 0.0
        self._server = server
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.2):
            self.memory = max(self.memory, self._server.memory())


def bare_engine(model: str, asks: list[Ask], clients: int, threads: int) -> float:
    """New tokens a second of the engine, driven by so many tasks and no HTTP."""

    async def run() -> float:
        facts = describe(ModelRef.parse(model))
        engine = await open_engine("transformers", facts, EngineOptions(threads=threads))
        waiting = iter(asks)

        async def one(ask: Ask, number: int) -> Told:
            params = GenerationParams(max_new_tokens=ask.tokens, temperature=0.0)
            prompt = Messages((Message("user", ask.text),))
            request = GenerateRequest(str(number), prompt, params, lane="chat")
            started, times, tokens, text = time.perf_counter(), [], 0, ""
            async for chunk in engine.stream(request):
                times.append(time.perf_counter() - started)
                tokens += len(chunk.token_ids)
                text += chunk.text
            return Told(times[0], (), tokens, text)

        told: list[Told] = []

        async def client() -> None:
            for ask in waiting:
                told.append(await one(ask, len(told)))

        await one(mixed(1, seed=9)[0], -1)
        started = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        seconds = time.perf_counter() - started
        await engine.close()
        return summed(told, seconds).speed

    return asyncio.run(run())


def _typing(model: Path, place: Path, threads: int, scale: float) -> Iterator[Result]:
    """An editor's autocomplete: a prefix that grows, each request after the last was given up."""
    turns = max(5, int(20 * scale))
    with serving(BAKEOFF, model, threads, place / "log") as server:
        reused = _first_tokens(server, [f"{_PREFIX}{_TYPED[: 3 * turn]}" for turn in range(turns)])
        fresh = _first_tokens(
            server, [f"{turn} {_PREFIX}{_TYPED[: 3 * turn]}" for turn in range(turns)]
        )
    ratio = percentile(reused[1:], 95) / percentile(fresh, 95)
    yield Result("autocomplete: first token p95, grown / fresh prefix", ratio, "x", 0.25, "at most")


_PREFIX = (
    "def walk(road, town):\n" + "    # on the way there are apples and weather and prices\n" * 45
)
_TYPED = "    for step in road.steps(): town.meet(step.person, step.basket, step.apples)\n" * 2


def _first_tokens(server: Running, prompts: list[str]) -> list[float]:
    """Seconds to the first piece of each; the rest is given up."""
    found = []
    with httpx.Client(base_url=server.url, timeout=300) as http:
        for prompt in prompts:
            body = {
                "model": server.model, "prompt": prompt, "max_tokens": 64, "temperature": 0,
                "stream": True,
            }  # fmt: skip
            started = time.perf_counter()
            with http.stream("POST", "/v1/completions", json=body) as answer:
                next(line for line in answer.iter_lines() if '"text":"' in line)
                found.append(time.perf_counter() - started)
    return found


def _encoder_decoder(place: Path, threads: int, scale: float) -> Iterator[Result]:
    ref = t5_small(place)
    asks = mixed(max(16, int(48 * scale)))
    model = Path(ref.uri.removeprefix("file://"))
    with serving(BAKEOFF, model, threads, place / "log") as server:
        drive(server.url, server.model, asks[:2], 1)
        alone = drive(server.url, server.model, asks[:6], 1)
        together = drive(server.url, server.model, asks, 16)
    ratio = together.speed / alone.speed
    yield Result("T5-small size: 16 clients / one at a time", ratio, "x", 4.0)


def _at_rest(place: Path, threads: int, scale: float) -> Iterator[Result]:
    """Connections that do nothing, and many short requests; the model is a fake."""
    with serving(BAKEOFF, Path("fake://echo"), threads, place / "log") as server:
        host, port = server.url.removeprefix("http://").split(":")
        _many(server, 200)
        before = server.memory()
        idle = [socket.create_connection((host, int(port))) for _ in range(1000)]
        time.sleep(1)
        yield Result("1,000 idle connections", server.memory() - before, "MB", 100, "at most")
        for one in idle:
            one.close()
        _many(server, int(2000 * scale))
        before = server.memory()
        _many(server, int(10_000 * scale))
        grown = server.memory() - before
        yield Result("10,000 requests: memory gained", grown, "MB", 20, "at most")


def _many(server: Running, count: int) -> None:
    with httpx.Client(base_url=server.url, timeout=60) as http:
        for _ in range(count):
            body = {"model": server.model, "prompt": "apples", "max_tokens": 4}
            http.post("/v1/completions", json=body).raise_for_status()
