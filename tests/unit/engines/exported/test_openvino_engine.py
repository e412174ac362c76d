"""The openvino engine on a real model; skipped where its tools are not built."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import EngineLost, ModelLoadFailed, UnsupportedOption
from bakeoff.core.outputs import Completion, Failure
from bakeoff.core.ports import Engine
from bakeoff.core.requests import GenerateRequest, ScoreRequest, Text
from bakeoff.engines import open_engine
from bakeoff.engines.cache import entries
from bakeoff.engines.openvino import conversion
from bakeoff.engines.openvino.converted import KIND, entry_of
from bakeoff.engines.options import EngineOptions
from tests.contract.reference import Ties, reference
from tests.contract.targets import EXPORTED, collect, run

pytestmark = pytest.mark.torch
LLAMA = EXPORTED[0]
LONG = {"max_new_tokens": 300, "min_new_tokens": 300}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    opened = LLAMA.open()
    yield opened
    run(opened.close())


def process(engine: Engine) -> int:
    """Id of the process that owns the model."""
    return int(engine._work.relay._process._child.pid)  # type: ignore[attr-defined]


def test_rows_of_all_limits_minimums_and_penalties_mix(engine: Engine) -> None:
    limits, least, penalties = (1, 2, 9, 33, 80, 100), (0, 20, 70), (1.0, 1.3)
    requests = [
        LLAMA.ask(
            text,
            f"m{at}",
            max_new_tokens=limits[at % 6],
            min_new_tokens=least[at % 3],
            repetition_penalty=penalties[at % 2],
        )
        for at, text in enumerate(LLAMA.inputs(40))
    ]
    ties = Ties()
    for request, made in zip(requests, run(engine.generate(requests)), strict=True):
        assert isinstance(made, Completion), made
        least_and_most = {"min_new_tokens": min(request.params.min_new_tokens or 0,
                                                request.params.max_new_tokens or 0)}  # fmt: skip
        plain = replace(request, params=replace(request.params, **least_and_most))
        ties.compare(reference(LLAMA), plain, made)
    assert ties.allowed, ties


def test_streams_run_beside_each_other(engine: Engine) -> None:
    async def check() -> None:
        ends: list[str] = []

        async def follow(name: str, new: int) -> None:
            request = LLAMA.ask("1 ring", name, max_new_tokens=new, min_new_tokens=new)
            async for _ in engine.stream(request):
                pass
            ends.append(name)

        await asyncio.gather(follow("long", 200), follow("short", 5))
        assert ends == ["short", "long"]

    run(asyncio.wait_for(check(), 60))


def test_cancelling_one_frees_it_and_leaves_the_others(engine: Engine) -> None:
    async def check() -> None:
        chunks = engine.stream(LLAMA.ask("1 ring", "gone", **LONG))
        async for _ in chunks:
            break
        stays = asyncio.create_task(engine.generate([LLAMA.ask("1 ring", "stays")]))
        await chunks.aclose()
        (made,) = await stays
        assert isinstance(made, Completion)
        assert len(engine._work.relay) == 0  # type: ignore[attr-defined]
        outcomes = collect(engine.complete([LLAMA.ask("1 ring", "aborted", **LONG)]))
        waiting = asyncio.create_task(outcomes)
        await asyncio.sleep(0.05)
        await engine.abort("aborted")
        (stopped,) = await waiting
        assert stopped.finish is FinishReason.CANCELLED
        assert len(stopped.token_ids) < 300

    run(asyncio.wait_for(check(), 60))


def test_the_event_loop_goes_on_while_the_library_computes(engine: Engine) -> None:
    """The library holds the interpreter's lock for a whole step, in a process of its own."""

    async def check() -> float:
        working = asyncio.create_task(engine.generate(LLAMA.requests(32, **LONG)))
        worst = 0.0
        while not working.done():
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - began)
        return worst

    assert run(check()) < 0.25


def test_a_process_that_is_killed_costs_what_ran_in_it(engine: Engine) -> None:
    async def check() -> list[Completion | Failure]:
        working = asyncio.create_task(engine.generate([LLAMA.ask("1 ring", "lost", **LONG)]))
        while not len(engine._work.relay):  # type: ignore[attr-defined]
            await asyncio.sleep(0)
        os.kill(process(engine), signal.SIGKILL)
        return await working

    first = process(engine)
    (lost,) = run(asyncio.wait_for(check(), 60))
    assert isinstance(lost, Failure)
    assert lost.code == EngineLost.code
    (made,) = run(engine.generate([LLAMA.ask("1 ring")]))
    assert isinstance(made, Completion)
    assert process(engine) != first


def test_what_it_cannot_do_is_refused_by_name(engine: Engine) -> None:
    for settings, name in (
        ({"temperature": 0.5}, "temperature"),
        ({"num_beams": 2}, "num_beams"),
        ({"logit_bias": ((3, 1.0),)}, "logit_bias"),
    ):
        (failure,) = run(engine.generate([LLAMA.ask("1 ring", **settings)]))
        assert isinstance(failure, Failure)
        assert failure.code == UnsupportedOption.code
        assert name in failure.message
    (failure,) = run(collect(engine.score([ScoreRequest("s", Text("a"), " b")])))
    assert failure.code == UnsupportedOption.code
    told = GenerateRequest("p", Text("a"), logprobs=2)
    assert engine.unsupported(told) == ["logprobs"]


def test_an_export_that_computes_something_else_is_not_used(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of its weights are lost on the way."""
    there = entry_of(LLAMA.facts())  # before the home is another one
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path))

    def wrong(python: Path, source: Path, target: Path) -> None:
        target.mkdir()
        for path in (there / "model").iterdir():
            (target / path.name).write_bytes(path.read_bytes())
        weights = bytearray((target / "openvino_model.bin").read_bytes())
        weights[4096:8192] = bytes(4096)
        (target / "openvino_model.bin").write_bytes(weights)

    monkeypatch.setattr(conversion, "exporter", lambda: Path("python"))
    monkeypatch.setattr(conversion, "_export", wrong)
    with pytest.raises(ModelLoadFailed, match="other log-probabilities"):
        run(open_engine("openvino", LLAMA.facts(), EngineOptions(threads=1)))
    assert [entry for entry in entries() if entry.kind == KIND] == []
    auto = replace(LLAMA.facts(), ref=LLAMA.facts().ref.model_copy(update={"engine": "auto"}))
    instead = run(open_engine("openvino", auto, EngineOptions(threads=1)))
    assert instead.info.name == "transformers"
    assert any(notice.code == "engine-fallback" for notice in instead.notices)
    run(instead.close())
