"""The transformers engine on real models: cancelling, limits, memory, the event loop."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import subprocess
import sys
import time

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import (
    DeadlineExceeded,
    EngineClosed,
    EngineFailed,
    OutOfMemory,
    PromptTooLong,
    UnsupportedOption,
)
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion, Failure, Likelihood
from bakeoff.core.requests import (
    Embed,
    GenerateRequest,
    GenerationParams,
    Grammar,
    Message,
    Messages,
    PredictRequest,
    ScoreRequest,
    Source,
    Text,
    Tokens,
)
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from tests.contract.targets import Target, collect, run, streamed
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
LLAMA, BART, QWEN2 = Target("llama"), Target("bart"), Target("qwen2")
LONG = {"max_new_tokens": 400, "min_new_tokens": 400}


@pytest.fixture(scope="module")
def engines():
    found = {target: target.open() for target in (LLAMA, BART, QWEN2)}
    yield found
    for engine in found.values():
        run(engine.close())


@pytest.fixture
def llama(engines):
    return engines[LLAMA]


@pytest.fixture
def bart(engines):
    return engines[BART]


def one(engine, request):
    return run(engine.generate([request]))[0]


def test_the_asynchronous_side_loads_no_heavy_library():
    code = "import sys, bakeoff.engines.transformers.engine; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_closing_a_stream_stops_within_a_step(llama, steps):
    async def check() -> None:
        chunks = llama.stream(LLAMA.ask("1 ring", **LONG))
        for _ in range(3):
            await anext(chunks)
        await chunks.aclose()
        await llama.encode("wait for the thread")

    run(check())
    assert len(steps) < 40


def test_closing_an_iterator_stops_what_runs_and_what_waits(llama, steps):
    async def check() -> None:
        requests = [LLAMA.ask("1 ring", "quick", max_new_tokens=2)]
        requests += [LLAMA.ask("1 ring 2 brush", f"slow{at}", **LONG) for at in range(40)]
        outcomes = llama.complete(requests)
        waiting = asyncio.ensure_future(anext(outcomes))
        await asyncio.sleep(0.3)
        waiting.cancel()
        await asyncio.wait([waiting])
        await outcomes.aclose()
        await llama.encode("wait for the thread")

    run(check())
    assert len(steps) < 390


def test_abort_ends_one_row_and_leaves_its_neighbours(llama, steps):
    async def check() -> list[Completion]:
        requests = [
            LLAMA.ask("1 ring", f"a{at}", max_new_tokens=120, min_new_tokens=120) for at in range(3)
        ]
        running = asyncio.ensure_future(llama.generate(requests))
        while not steps:
            await asyncio.sleep(0.001)
        await llama.abort("a1")
        return await running

    first, aborted, last = run(check())
    assert aborted.finish is FinishReason.CANCELLED
    assert len(aborted.token_ids) < 120
    assert first.token_ids == last.token_ids
    assert len(first.token_ids) == 120
    assert first.token_ids[: len(aborted.token_ids)] == aborted.token_ids


def test_closing_the_engine_fails_what_runs_and_what_waits():
    engine = LLAMA.open(max_batch=2)

    async def check() -> list[Failure]:
        requests = [LLAMA.ask("1 ring", f"c{at}", **LONG) for at in range(6)]
        running = asyncio.ensure_future(engine.generate(requests))
        await asyncio.sleep(0.2)
        await engine.close()
        return await running

    assert {outcome.code for outcome in run(check())} == {EngineClosed.code}


def test_a_deadline_fails_its_row_alone(llama):
    late = GenerateRequest("late", Text("1 ring"), GenerationParams(**LONG), deadline=0.05)
    requests = [LLAMA.ask("1 ring", "good", max_new_tokens=30), late]
    good, failed = run(llama.generate(requests))
    assert isinstance(good, Completion)
    assert failed.code == DeadlineExceeded.code
    waited = GenerateRequest("w", Text("1 ring"), GenerationParams(max_new_tokens=1), deadline=0.0)
    assert one(llama, waited).code == DeadlineExceeded.code


def test_the_checkpoint_s_own_settings_do_not_leak(llama, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(zoo_path("llama"), folder)
    file = folder / "generation_config.json"
    said = json.loads(file.read_text())
    loud = {"do_sample": True, "temperature": 3.0, "top_k": 7, "num_beams": 4, "min_length": 300,
            "repetition_penalty": 5.0, "no_repeat_ngram_size": 1, "max_new_tokens": 2}  # fmt: skip
    file.write_text(json.dumps(said | loud))
    facts = describe(ModelRef.parse(str(folder)))
    engine = run(open_engine("transformers", facts, EngineOptions(threads=1)))
    neutral = {"temperature": 0.0, "num_beams": 1, "repetition_penalty": 1.0,
               "no_repeat_ngram_size": 0, "min_new_tokens": 0, "max_new_tokens": 60}  # fmt: skip
    text = LLAMA.inputs(1)[0]
    assert (
        one(engine, LLAMA.ask(text, **neutral)).token_ids
        == one(llama, LLAMA.ask(text, max_new_tokens=60)).token_ids
    )
    run(engine.close())


def test_new_tokens_are_clipped_to_the_room_that_is_left(llama):
    window = llama.capabilities.context_length
    for prompt, wanted, expected in (
        (window - 10, 10, 10),
        (window - 10, 11, 10),
        (window - 10, 10**9, 10),
        (window - 1, 5, 1),
    ):
        params = GenerationParams(max_new_tokens=wanted, min_new_tokens=wanted)
        made = one(llama, GenerateRequest("w", Tokens((20,) * prompt), params))
        assert made.finish is FinishReason.LENGTH
        assert len(made.token_ids) == expected
    failed = one(llama, GenerateRequest("w", Tokens((20,) * window)))
    assert failed.code == PromptTooLong.code


def test_a_decoder_s_positions_limit_the_text(bart):
    positions = bart._worker.loaded.model.config.max_position_embeddings
    made = one(bart, BART.ask("1 ring", max_new_tokens=10**6, min_new_tokens=10**6))
    assert len(made.token_ids) == positions - 1
    assert made.finish is FinishReason.LENGTH


def test_no_new_tokens_at_all(llama):
    made = one(llama, LLAMA.ask("1 ring", max_new_tokens=0))
    assert (made.text, made.finish, made.token_ids) == ("", FinishReason.LENGTH, ())
    assert made.usage.prompt > 0
    chunks = streamed(llama, LLAMA.ask("1 ring", max_new_tokens=0))
    assert [chunk.finish for chunk in chunks] == [FinishReason.LENGTH]


def test_a_forced_end_at_the_limit_is_no_stop(bart):
    made = one(bart, BART.ask("1 ring 2 brush 3 lamp", max_new_tokens=6))
    assert made.finish is FinishReason.LENGTH
    assert len(made.token_ids) == 6


def test_half_a_character_at_the_limit_is_not_shown(llama):
    text = LLAMA.inputs(1)[0]
    for size in range(4, 16):
        made = one(llama, LLAMA.ask(text, max_new_tokens=size))
        assert "\ufffd" not in made.text
        chunks = streamed(llama, LLAMA.ask(text, max_new_tokens=size))
        assert "".join(chunk.text for chunk in chunks) == made.text


def test_padding_beside_a_long_row_is_no_warning(llama):
    """Rows of one batch: the short one goes on where, padded, it would pass the window."""
    said: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = said.append
    logger = logging.getLogger("transformers.generation.stopping_criteria")
    logger.warning_once.cache_clear()
    logger.addHandler(handler)
    asks = [LLAMA.ask("1 ring and " * size, str(size), max_new_tokens=60) for size in (110, 155)]
    try:
        long, short = sorted(
            run(collect(llama.complete(iter(asks)))), key=lambda made: -made.usage.prompt
        )
    finally:
        logger.removeHandler(handler)
    assert long.concurrency == short.concurrency == 2
    assert long.usage.prompt + short.usage.completion > 512 >= long.usage.prompt
    assert not said


def test_stop_ids_end_the_text_of_their_row_alone(llama):
    text = "1 ring 2 brush"
    plain = one(llama, LLAMA.ask(text))
    stop = plain.token_ids[4]
    at = plain.token_ids.index(stop)
    requests = [LLAMA.ask(text, "s", stop_ids=(stop,)), LLAMA.ask(text, "p")]
    stopped, other = run(llama.generate(requests))
    assert stopped.token_ids == plain.token_ids[: at + 1]
    assert stopped.finish is FinishReason.STOP
    assert plain.text.startswith(stopped.text)
    assert other.token_ids == plain.token_ids


def test_the_end_of_a_turn_is_hidden_where_it_is_no_end_of_sequence():
    engine = LLAMA.open()
    try:
        worker = engine._worker
        end_of_turn = worker.loaded.tokenizer.convert_tokens_to_ids("<|im_end|>")
        special = worker.parts.special
        assert end_of_turn in special.turn_end
        object.__setattr__(special, "end", special.end - {end_of_turn})
        ask = LLAMA.ask(LLAMA.inputs(1)[0], max_new_tokens=120)
        made = one(engine, ask)
        assert made.finish is FinishReason.STOP
        assert made.token_ids[-1] == end_of_turn
        assert "<|" not in made.text
        assert "".join(chunk.text for chunk in streamed(engine, ask)) == made.text
    finally:
        run(engine.close())


def test_beams_stop_at_stop_strings_too(llama):
    text = "1 ring 2 brush"
    plain = one(llama, LLAMA.ask(text, num_beams=3))
    stop = plain.text[12:18]
    stopped = one(llama, LLAMA.ask(text, num_beams=3, stop=(stop,)))
    assert stopped.text == plain.text[: plain.text.find(stop)]
    assert stopped.finish is FinishReason.STOP
    best = run(collect(llama.complete([LLAMA.ask(text, num_beams=3, n=2)])))
    assert [made.choice for made in best] == [0, 1]
    assert best[0].text == plain.text
    assert best[1].text != plain.text
    chunks = streamed(llama, LLAMA.ask(text, num_beams=3))
    assert "".join(chunk.text for chunk in chunks) == plain.text


def test_choices_differ_when_drawn_and_are_equal_when_not(llama):
    asked = LLAMA.ask("1 ring", temperature=3.0, n=4)
    drawn = sorted(run(collect(llama.complete([asked]))), key=lambda made: made.choice)
    assert len({made.text for made in drawn}) == 4
    greedy = run(collect(llama.complete([LLAMA.ask("1 ring", n=3)])))
    assert [made.choice for made in greedy] == [0, 1, 2]
    assert len({made.text for made in greedy}) == 1
    chunks = streamed(llama, LLAMA.ask("1 ring", temperature=3.0, n=2))
    for choice in (0, 1):
        mine = [chunk for chunk in chunks if chunk.choice == choice]
        assert "".join(chunk.text for chunk in mine) == drawn[choice].text
        assert [chunk.finish is None for chunk in mine] == [True] * (len(mine) - 1) + [False]


def test_without_a_seed_the_text_is_that_of_seed_0(llama):
    asked = [LLAMA.ask("1 ring", f"s{seed}", temperature=2.0, seed=seed) for seed in (None, 0, 1)]
    texts = [made.text for made in run(llama.generate(asked))]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("settings", "option"),
    [
        ({"params": GenerationParams(num_beams=2, temperature=0.5)}, "num_beams"),
        ({"params": GenerationParams(num_beams=2, n=3)}, "n"),
        ({"params": GenerationParams(num_beams=2), "logprobs": 1}, "logprobs"),
        ({"params": GenerationParams(num_beams=2), "grammar": Grammar("regex", "x")}, "num_beams"),
        ({"adapter": "x"}, "adapter"),
        ({"params": GenerationParams(num_beams=2), "prompt_logprobs": 1}, "prompt_logprobs"),
        ({"prompt": Source("x", target_language="de")}, "target_language"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(llama, settings, option):
    request = GenerateRequest("u", **{"prompt": Text("1 ring"), **settings})
    assert llama.unsupported(request) == [option]
    failed = one(llama, request)
    assert failed.code == UnsupportedOption.code
    assert option in failed.message
    with pytest.raises(UnsupportedOption, match=option):
        streamed(llama, request)


def test_an_encoder_is_asked_for_by_name(llama):
    request = PredictRequest("e", Embed("x"))
    assert llama.unsupported(request) == ["ask"]
    assert run(collect(llama.predict([request])))[0].code == UnsupportedOption.code


def test_a_model_without_a_template_takes_no_conversation(bart):
    failed = one(bart, GenerateRequest("t", Messages((Message("user", "hello"),))))
    assert failed.code == "template_failed"


def test_too_little_memory_halves_a_batch_of_beams(llama, monkeypatch):
    model = llama._worker.loaded.model
    requests = LLAMA.requests(10, max_new_tokens=5, num_beams=2)
    expected = [made.token_ids for made in run(llama.generate(requests))]
    generate, sizes = model.generate, []

    def narrow(**inputs):
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 3:
            raise RuntimeError(
                "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate"
            )
        return generate(**inputs)

    limits = llama._worker.careful.limits
    monkeypatch.setattr(model, "generate", narrow)
    monkeypatch.setattr(llama._worker.careful, "limits", limits)
    found = run(llama.generate(requests))
    assert [made.token_ids for made in found] == expected
    assert sizes[0] > 3
    assert max(sizes[3:]) <= 3
    assert {made.concurrency for made in found} <= {1, 2, 3}


def test_too_little_memory_lets_fewer_rows_step_together(llama, monkeypatch):
    model, scheduler = llama._worker.loaded.model, llama._worker.stepper.scheduler
    requests = LLAMA.requests(10, max_new_tokens=5)
    expected = [made.token_ids for made in run(llama.generate(requests))]
    forward, sizes = model.forward, []

    def narrow(**inputs):
        sizes.append(len(inputs["input_ids"]))
        if sizes[-1] > 3:
            raise RuntimeError(
                "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate"
            )
        return forward(**inputs)

    monkeypatch.setattr(model, "forward", narrow)
    monkeypatch.setattr(scheduler, "pace", scheduler.pace)
    found = run(llama.generate(requests))
    assert [made.token_ids for made in found] == expected
    assert max(sizes) > 3 >= max(sizes[-5:])


@pytest.mark.parametrize("beams", [1, 2])
def test_one_row_without_memory_and_one_that_breaks_the_library(llama, monkeypatch, beams):
    model, scheduler = llama._worker.loaded.model, llama._worker.stepper.scheduler
    forward = model.forward

    def fussy(**inputs):
        ids = inputs["input_ids"]
        if (ids == 700).any():
            raise RuntimeError("CUDA out of memory. Tried to allocate 3 GiB")
        if (ids == 701).any():
            raise ValueError("broken on purpose")
        return forward(**inputs)

    monkeypatch.setattr(model, "forward", fussy)
    monkeypatch.setattr(llama._worker.careful, "limits", llama._worker.careful.limits)
    monkeypatch.setattr(scheduler, "pace", scheduler.pace)
    params = GenerationParams(max_new_tokens=4, num_beams=beams)
    requests = [
        GenerateRequest(str(at), Tokens((20, token)), params)
        for at, token in enumerate((30, 700, 31, 701, 32))
    ]
    found = run(llama.generate(requests))
    assert [isinstance(made, Completion) for made in found] == [True, False, True, False, True]
    assert found[1].code == OutOfMemory.code
    assert found[3].code == EngineFailed.code
    assert "broken on purpose" in found[3].message


def test_the_event_loop_stays_responsive(llama):
    async def check() -> float:
        lags, done = [], False

        async def clock() -> None:
            while not done:
                before = time.perf_counter()
                await asyncio.sleep(0.002)
                lags.append(time.perf_counter() - before - 0.002)

        ticking = asyncio.ensure_future(clock())
        await llama.generate(LLAMA.requests(48, max_new_tokens=60))
        done = True
        await ticking
        return sorted(lags)[len(lags) // 2]

    assert run(check()) < 0.05


def test_scores_are_cut_at_the_beginning_or_refused(llama):
    window = llama.capabilities.context_length
    context = Tokens(tuple(10 + at % 600 for at in range(window + 20)))
    refused, kept = (ScoreRequest(name, context, " ring", name) for name in ("refuse", "cut"))
    outcomes = {o.id: o for o in run(collect(llama.score([refused, kept])))}
    assert outcomes["refuse"].code == PromptTooLong.code
    cut = outcomes["cut"]
    assert isinstance(cut, Likelihood)
    size = len(cut.token_ids)
    assert cut.usage.cut == 20 + size - 1
    tail = Tokens(context.ids[cut.usage.cut :])
    again = run(collect(llama.score([ScoreRequest("again", tail, " ring")])))[0]
    assert again.logprobs == pytest.approx(cut.logprobs, abs=1e-5)


def test_greedy_continuations_are_recognised(engines):
    for target, engine in engines.items():
        text = target.inputs(1)[0]
        ask = target.ask(text, max_new_tokens=8)
        written = one(engine, ask)
        request = ScoreRequest("g", ask.prompt, written.text)
        found = run(collect(engine.score([request, ScoreRequest("w", ask.prompt, " kite kite")])))
        greedy = {outcome.id: outcome for outcome in found}
        if target is QWEN2:  # joined text is tokenised as it was written
            assert greedy["g"].is_greedy
        mean = {name: found.total / len(found.token_ids) for name, found in greedy.items()}
        assert mean["g"] > mean["w"]
        assert not greedy["w"].is_greedy
