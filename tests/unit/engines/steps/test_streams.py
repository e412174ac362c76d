"""The loop behind the engine: many callers at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import EngineClosed, PromptTooLong
from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest, Tokens
from tests.contract.targets import Target, collect, run, texts

pytestmark = pytest.mark.torch
LLAMA, BART = Target("llama"), Target("bart")
LONG = {"max_new_tokens": 300, "min_new_tokens": 300}


@pytest.fixture(scope="module")
def engines():
    found = {target: target.open() for target in (LLAMA, BART)}
    yield found
    for engine in found.values():
        run(engine.close())


@pytest.fixture
def llama(engines):
    return engines[LLAMA]


@pytest.mark.parametrize("target", [LLAMA, BART], ids=lambda target: target.label)
def test_streams_share_their_steps_and_are_the_completions(target, engines):
    engine = engines[target]
    requests = target.requests(8, max_new_tokens=40)
    whole = texts(engine, requests)
    passes = []
    model = engine._worker.loaded.model
    handle = model.register_forward_hook(lambda *_: passes.append(1))

    async def all_at_once() -> list[list]:
        return await asyncio.gather(*(collect(engine.stream(one)) for one in requests))

    streams = run(all_at_once())
    handle.remove()
    assert ["".join(chunk.text for chunk in chunks) for chunks in streams] == whole
    assert all(chunks[-1].finish and chunks[-1].usage for chunks in streams)
    assert len(passes) < 3 * 40, "a stream each would take 8 times 40"


def test_choices_of_a_stream_are_told_apart_and_each_ends(llama):
    request = LLAMA.ask(LLAMA.inputs(1)[0], n=3, temperature=2.0, seed=5)
    whole = {o.choice: o.text for o in run(collect(llama.complete([request])))}
    chunks = run(collect(llama.stream(request)))
    for choice in range(3):
        mine = [chunk for chunk in chunks if chunk.choice == choice]
        assert "".join(chunk.text for chunk in mine) == whole[choice]
        assert [chunk.finish is None for chunk in mine] == [True] * (len(mine) - 1) + [False]


def test_a_greedy_stream_of_several_choices_gives_each(llama):
    request = LLAMA.ask(LLAMA.inputs(1)[0], n=2)
    chunks = run(collect(llama.stream(request)))
    told = ["".join(c.text for c in chunks if c.choice == choice) for choice in (0, 1)]
    assert told[0] == told[1] != ""


@pytest.mark.parametrize("target", [LLAMA, BART], ids=lambda target: target.label)
def test_lanes_of_clients_go_through_the_loop_beside_batches(target, engines):
    engine = engines[target]
    requests = [
        replace(one, lane=("edit", "chat", "batch")[at % 3])
        for at, one in enumerate(target.requests(9))
    ]
    beams = replace(target.ask(target.inputs(1)[0], "beams", num_beams=3), lane="chat")
    alone = [texts(engine, [replace(one, lane="batch")])[0] for one in (*requests, beams)]
    assert texts(engine, [*requests, beams]) == alone


def test_closing_a_stream_ends_it_within_a_step(llama, steps):
    async def check() -> None:
        stream = llama.stream(LLAMA.ask(LLAMA.inputs(1)[0], **LONG))
        async for _ in stream:
            break
        await stream.aclose()
        at = len(steps)
        await llama.encode("x")  # behind the turn that may still be running
        await llama.encode("x")
        await asyncio.sleep(0.05)
        assert len(steps) <= at + 2

    run(check())


def test_aborting_one_stream_leaves_the_others_alone(llama):
    requests = [replace(LLAMA.ask(text, f"q{at}", max_new_tokens=60))
                for at, text in enumerate(LLAMA.inputs(4))]  # fmt: skip
    whole = texts(llama, requests)

    async def told(request: GenerateRequest) -> list:
        chunks = []
        async for chunk in llama.stream(request):
            chunks.append(chunk)
            if request.id == "q1" and len(chunks) == 3:
                await llama.abort("q1")
        return chunks

    async def check() -> list:
        return await asyncio.gather(*map(told, requests))

    found = run(check())
    assert found[1][-1].finish is FinishReason.CANCELLED
    assert whole[1].startswith("".join(chunk.text for chunk in found[1]))
    others = ["".join(c.text for c in chunks) for at, chunks in enumerate(found) if at != 1]
    assert others == [text for at, text in enumerate(whole) if at != 1]


def test_what_cannot_be_read_is_raised_before_the_first_chunk(llama):
    long = GenerateRequest("long", Tokens((20,) * (llama.capabilities.context_length + 1)))
    with pytest.raises(PromptTooLong):
        run(collect(llama.stream(long)))


def test_closing_the_engine_ends_every_stream():
    async def check() -> None:
        engine = await asyncio.to_thread(LLAMA.open)
        started = asyncio.Event()

        async def told(at: int) -> str:
            try:
                async for chunk in engine.stream(LLAMA.ask(LLAMA.inputs(1)[0], f"c{at}", **LONG)):
                    started.set()
                    if chunk.finish is not None:
                        return chunk.finish.value
            except EngineClosed:
                return "closed"
            return "nothing"

        telling = [asyncio.create_task(told(at)) for at in range(4)]
        await started.wait()
        await engine.close()
        ends = await asyncio.wait_for(asyncio.gather(*telling), 30)
        assert set(ends) <= {"closed", FinishReason.CANCELLED.value}

    run(check())


def test_a_prompt_read_before_is_told_as_cached(llama):
    text = "1 ring 2 brush 3 lamp 4 rug " * 8
    requests = [replace(LLAMA.ask(text, f"u{at}"), lane="chat") for at in range(2)]
    first, second = (run(llama.generate([one]))[0] for one in requests)
    assert isinstance(first, Completion)
    assert first.text == second.text
    assert 0 < second.usage.cached < second.usage.prompt


def test_a_fault_in_a_batch_is_raised_and_nobody_waits_for_ever(llama, monkeypatch):
    def broken(rows, control):
        raise RuntimeError("no such luck")

    writer = llama._worker.writer
    monkeypatch.setattr(
        llama._worker, "_writer", SimpleNamespace(rows=writer.rows, complete=broken)
    )

    async def ask():
        async with asyncio.timeout(20):
            return await llama.generate([LLAMA.ask("1 ring", num_beams=2)])

    with pytest.raises(RuntimeError, match="no such luck"):
        run(ask())
