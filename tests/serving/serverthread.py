"""A server on a thread of its own, and engines that tell what they were asked."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

import httpx

from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerateRequest
from bakeoff.engines import describe, open_engine
from bakeoff.engines.fake import FakeEngine, FakeScript
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.route import route
from bakeoff.serving import server as serving
from bakeoff.serving.desk import Desk
from bakeoff.serving.models import Entry, ModelTable
from bakeoff.serving.options import ServeOptions

WITHIN = 20.0  # seconds, for what takes none


class Server:
    """`serve` on a thread; `url` is where it listens."""

    def __init__(self, entries: Sequence[Entry], **options: Any) -> None:
        self._ready: Future[str] = Future()
        self._over: Future[None] = Future()
        self.desk = Desk(ModelTable(entries), ServeOptions(port=0, **options))
        self._thread = threading.Thread(target=self._run, name="server")
        self._thread.start()
        self.url = self._ready.result(WITHIN * 6)
        self.http = httpx.Client(base_url=self.url, timeout=WITHIN)

    def _run(self) -> None:
        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.current_task()
            with suppress(asyncio.CancelledError):
                await serving.run(self.desk, self._ready.set_result)

        try:
            asyncio.run(run())
        except BaseException as problem:  # told to whoever waits for the server
            if not self._ready.done():
                self._ready.set_exception(problem)
            self._over.set_exception(problem)
        else:
            self._over.set_result(None)

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        return self.http.post(path, json=body, **more)

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        lines = self.http.get("/metrics").text.splitlines()
        found = [line for line in lines if line.partition(" ")[0].partition("{")[0] == name]
        return sum(float(line.rpartition(" ")[2]) for line in found)

    def call(self, function: Callable[[], object]) -> None:
        """Call that on the server's thread."""
        self._loop.call_soon_threadsafe(function)

    def close(self) -> None:
        self.http.close()
        if not self._over.done():
            self.call(self._task.cancel)
        self._over.result(WITHIN)
        self._thread.join(WITHIN)


class Watched(FakeEngine):
    """A fake that counts; `running` is what it works on now."""

    def __init__(self, text: str, name: str) -> None:
        ref = ModelRef.parse(text)
        super().__init__(FakeScript.parse(ref.name), describe(ref).capabilities, 8, "")
        self.name = name
        self.asked: list[GenerateRequest] = []
        self.running = 0
        self.left = threading.Event()
        self.entered = threading.Semaphore(0)

    async def stream(self, request):
        with self._counted(request):
            async for chunk in super().stream(request):
                yield chunk

    async def complete(self, requests):
        held = list(requests)
        with self._counted(*held):
            async for outcome in super().complete(held):
                yield outcome

    def _counted(self, *requests: GenerateRequest) -> Any:
        engine = self

        class Counted:
            def __enter__(self) -> None:
                engine.asked.extend(requests)
                engine.running += 1
                engine.entered.release()

            def __exit__(self, *error: object) -> None:
                engine.running -= 1
                engine.left.set()

        return Counted()


def fake(text: str, name: str) -> Entry:
    """A fake model under a name."""
    facts = describe(ModelRef.parse(text))
    opener = partial(open_engine, "fake", facts, EngineOptions())
    return Entry(name, facts, opener, partial(describe, facts.ref))


def watched(engine: Watched, text: str) -> Entry:
    async def opened() -> Watched:
        return engine

    facts = describe(ModelRef.parse(text))
    return Entry(engine.name, facts, opened, partial(describe, facts.ref))


def real(path: str, name: str) -> Entry:
    """A model of the zoo."""
    facts = describe(ModelRef.parse(path, engine="transformers"))
    opener = partial(open_engine, route(facts).engine, facts, EngineOptions(threads=1))
    return Entry(name, facts, opener, partial(describe, facts.ref), pinned=True)


def events(text: str) -> list[Any]:
    """The data of a stream of events; its last one has to be `[DONE]`."""
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def until(true):
    """Wait until that holds."""
    end = time.monotonic() + WITHIN
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)
