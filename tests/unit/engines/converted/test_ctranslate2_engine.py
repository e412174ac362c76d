"""The ctranslate2 engine on real models: rows that differ, cancelling, limits, likelihoods."""

from __future__ import annotations

import asyncio
import logging
import time

import numpy as np
import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import (
    DeadlineExceeded,
    EngineClosed,
    EngineFailed,
    InvalidRequest,
    OutOfMemory,
    UnsupportedOption,
)
from bakeoff.core.outputs import Completion, Failure, Likelihood
from bakeoff.core.requests import (
    Embed,
    GenerateRequest,
    GenerationParams,
    PredictRequest,
    ScoreRequest,
    Text,
    Tokens,
)
from bakeoff.engines.batch.rows import Arrived
from bakeoff.engines.ctranslate2.generation import kin
from tests.contract.reference import Ties, reference
from tests.contract.targets import Target, collect, run, streamed

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Unfeasible length", "ignore:Recommended. pip install"),
]
NAMES = ("t5", "bart", "marian", "llama", "qwen2")
T5, BART, MARIAN, LLAMA, QWEN2 = (Target(name, "ctranslate2") for name in NAMES)
LONG = {"max_new_tokens": 240, "min_new_tokens": 240}


@pytest.fixture(scope="module")
def engines():
    found = {}

    def get(target, **options):
        key = (target, *options.items())
        if key not in found:
            found[key] = target.open(**options)
        return found[key]

    yield get
    for engine in found.values():
        run(engine.close())


def one(engine, request):
    return run(engine.generate([request]))[0]


def equal(target, engine, requests):
    ties = Ties()
    for request, made in zip(requests, run(engine.generate(requests)), strict=True):
        assert isinstance(made, Completion), made
        ties.compare(reference(target), request, made)
    assert ties.allowed, ties


@pytest.fixture
def two_workers(monkeypatch):
    """Engines that are opened in the test run two batches at the same time."""
    monkeypatch.setattr("bakeoff.engines.ctranslate2.loading._THREADS_EACH", 1)


@pytest.mark.parametrize("target", [T5, BART, MARIAN], ids=lambda one: one.name)
def test_rows_of_all_limits_and_minimums_mix(target, engines):
    """More than the contract asks: every row its own limits, and none waits for another batch."""
    limits, least = (1, 2, 9, 33, 80, 100), (0, 20, 70, 90)
    requests = [
        target.ask(text, f"m{at}", max_new_tokens=limits[at % 6], min_new_tokens=least[at % 4])
        for at, text in enumerate(target.inputs(24))
    ]
    work = engines(target)._work
    rows, _ = work.rows([Arrived(request, 0.0) for request in requests])
    assert len({kin(row) for row in rows}) == 1
    equal(target, engines(target), requests)


@pytest.mark.parametrize("target", [BART, LLAMA], ids=lambda one: one.name)
def test_batches_are_dealt_out_to_all_workers(target, two_workers):
    engine = target.open(threads=2)
    assert engine._work.loaded.workers == 2
    requests = target.requests(9, max_new_tokens=30)
    equal(target, engine, requests)
    equal(target, engine, requests[:1])
    if target is BART:
        beams = {"num_beams": 2, "early_stopping": True}
        equal(target, engine, target.requests(5, max_new_tokens=30, **beams))
    run(engine.close())


@pytest.mark.parametrize("target", [LLAMA, QWEN2], ids=lambda one: one.name)
def test_prompts_of_all_lengths_mix(target, engines):
    """From one token on: the library reads a lone token in another way than a prompt."""
    engine = engines(target)
    ids = reference(target).inputs(target.ask(target.inputs(1)[0]))["input_ids"][0].tolist()
    sizes = (1, 2, 1, 7, len(ids), 5, 6, 1)
    requests = [
        GenerateRequest(str(at), Tokens(tuple(ids[:size])), GenerationParams(max_new_tokens=12))
        for at, size in enumerate(sizes)
    ]
    made = run(engine.generate(requests))
    alone = [one(engine, request) for request in requests]
    assert [found.token_ids for found in made] == [found.token_ids for found in alone]
    plain = Target(target.name).open()
    assert [found.token_ids for found in run(plain.generate(requests))] == [
        found.token_ids for found in made
    ]
    run(plain.close())


def test_forced_tokens_are_counted_as_transformers_counts_them(engines):
    engine = engines(BART)
    for limit in (1, 2, 3):
        made = one(engine, BART.ask("1 ring 2 brush", max_new_tokens=limit))
        assert len(made.token_ids) == limit
        assert made.token_ids[-1] == 2
        assert made.finish is FinishReason.LENGTH
    made = one(engine, BART.ask("1 ring", max_new_tokens=80))
    assert made.token_ids[0] == 0
    assert made.finish is FinishReason.STOP


def test_what_the_checkpoint_forbids_is_not_written(engines):
    engine = engines(MARIAN)
    assert engine._work._writer.generator._suppressed == []  # its row is not even there
    made = one(engine, MARIAN.ask(MARIAN.inputs(1)[0], **LONG))
    assert 1032 not in made.token_ids


def test_stop_ids_and_strings_end_their_row_alone(engines):
    engine, text = engines(T5), "summarize: 1 ring of plain glass 2 brush of heavy wood"
    plain = one(engine, T5.ask(text))
    token = plain.token_ids[4]
    requests = [
        T5.ask(text, "ids", stop_ids=(token,)),
        T5.ask(text, "plain"),
        T5.ask(text, "string", stop=(plain.text[5:9],)),
    ]
    by_id, other, by_string = run(engine.generate(requests))
    assert by_id.token_ids == plain.token_ids[: plain.token_ids.index(token) + 1]
    assert by_id.finish is by_string.finish is FinishReason.STOP
    assert by_string.text == plain.text[: plain.text.find(plain.text[5:9])]
    assert other.token_ids == plain.token_ids


def test_closing_a_stream_stops_within_a_step(engines):
    engine = engines(T5)

    async def check() -> float:
        chunks = engine.stream(T5.ask("summarize: 1 ring", **LONG))
        began = time.perf_counter()
        for _ in range(3):
            await anext(chunks)
        first = time.perf_counter() - began
        await chunks.aclose()
        began = time.perf_counter()
        await engine.encode("wait for the thread")
        return (time.perf_counter() - began) / max(first, 1e-3)

    assert run(check()) < 30  # 240 steps would take 80 times as long as three


def test_abort_ends_one_row_and_leaves_its_neighbours(engines):
    engine = engines(T5)

    async def check() -> list[Completion]:
        requests = [T5.ask("summarize: 1 ring", f"a{at}", **LONG) for at in range(3)]
        # the second row asks for its own abortion as soon as it is under way
        seen = []
        decode = engine._work._writer.generator.decode

        def watching(ids):
            seen.append(ids)
            return decode(ids)

        requests[1] = T5.ask("summarize: 1 ring", "a1", **LONG, stop=("\0",))
        object.__setattr__(engine._work._writer.generator, "decode", watching)
        try:
            running = asyncio.ensure_future(engine.generate(requests))
            while not seen:
                await asyncio.sleep(0)
            await engine.abort("a1")
            return await running
        finally:
            object.__delattr__(engine._work._writer.generator, "decode")

    first, aborted, last = run(check())
    assert aborted.finish is FinishReason.CANCELLED
    assert len(aborted.token_ids) < 240
    assert first.token_ids == last.token_ids
    assert first.token_ids[: len(aborted.token_ids)] == aborted.token_ids


def test_a_deadline_fails_its_row_alone(engines):
    engine = engines(T5)
    late = GenerateRequest(
        "late", Text("summarize: 1 ring"), GenerationParams(**LONG), deadline=0.02
    )
    requests = [T5.ask("summarize: 1 ring", "a", **LONG), late]
    kept, failed = run(engine.generate(requests))
    assert len(kept.token_ids) == 240
    assert isinstance(failed, Failure)
    assert failed.code == DeadlineExceeded.code


def test_closing_the_engine_fails_what_runs_and_what_waits():
    engine = T5.open(max_batch=2)

    async def check() -> list[Failure]:
        requests = [T5.ask("summarize: 1 ring", f"c{at}", **LONG) for at in range(40)]
        running = asyncio.ensure_future(engine.generate(requests))
        await asyncio.sleep(0.05)
        await engine.close()
        return await running

    outcomes = run(check())
    assert engine._work.loaded.runner is None  # the library's threads have ended
    assert EngineClosed.code in {one.code for one in outcomes if isinstance(one, Failure)}
    assert isinstance(outcomes[-1], Failure)


def test_beams_give_their_best_and_streams_come_whole(engines):
    settings = {"num_beams": 3, "early_stopping": True, "length_penalty": 0.7}
    for target in (T5, BART):
        engine = engines(target)
        text = target.inputs(1)[0]
        best = run(collect(engine.complete([target.ask(text, n=2, **settings)])))
        assert [made.choice for made in best] == [0, 1]
        assert best[0].text != best[1].text
        chunks = streamed(engine, target.ask(text, **settings))
        assert "".join(chunk.text for chunk in chunks) == best[0].text
        requests = [
            target.ask(text, str(at), max_new_tokens=(20, 60)[at % 2], **settings)
            for at, text in enumerate(target.inputs(6))
        ]
        equal(target, engine, requests)


def test_greedy_choices_are_equal(engines):
    made = run(collect(engines(T5).complete([T5.ask("summarize: 1 ring", n=3)])))
    assert [found.choice for found in made] == [0, 1, 2]
    assert len({found.text for found in made}) == 1


def test_likelihoods_are_those_of_the_transformers_engine(engines):
    for target in (LLAMA, QWEN2):
        texts = target.inputs(6)
        requests = [
            ScoreRequest(f"{at}-{end}", Text(text), end)
            for at, text in enumerate(texts)
            for end in (" ring", " 1 ring of glass", " kite")
        ]
        found = {o.id: o for o in run(collect(engines(target).score(requests)))}
        plain = Target(target.name).open()
        expected = {o.id: o for o in run(collect(plain.score(requests)))}
        run(plain.close())
        for name, wanted in expected.items():
            made = found[name]
            assert isinstance(made, Likelihood)
            assert made.token_ids == wanted.token_ids
            assert made.best == wanted.best
            assert np.allclose(made.logprobs, wanted.logprobs, atol=1e-4)
            assert made.usage == wanted.usage


@pytest.mark.parametrize(
    ("target", "request_", "option"),
    [
        (T5, ScoreRequest("s", Text("a"), " b"), "likelihood"),
        (T5, PredictRequest("p", Embed("x")), "ask"),
        (T5, GenerateRequest("g", Text("x"), GenerationParams(temperature=1.0)), "temperature"),
        (T5, GenerateRequest("g", Text("x"), GenerationParams(num_beams=2)), "early_stopping"),
        (BART, GenerateRequest("g", Text("x"), GenerationParams(repetition_penalty=2.0)),
         "repetition_penalty"),
        (LLAMA, GenerateRequest("g", Text("x"), GenerationParams(no_repeat_ngram_size=2)),
         "no_repeat_ngram_size"),
        (LLAMA, GenerateRequest("g", Text("x"), logprobs=1), "logprobs"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused_by_name(target, request_, option, engines):
    engine = engines(target)
    assert engine.unsupported(request_) == [option]
    method = {ScoreRequest: engine.score, PredictRequest: engine.predict}.get(
        type(request_), engine.complete
    )
    failed = run(collect(method([request_])))[0]
    assert failed.code == UnsupportedOption.code
    if option != "ask":
        assert option in failed.message and "ctranslate2" in failed.message


def test_likelihood_is_a_declared_capability(engines):
    assert engines(LLAMA).capabilities.likelihood
    assert not engines(T5).capabilities.likelihood


def test_ids_that_the_conversion_lacks_are_refused(engines):
    failed = one(engines(MARIAN), GenerateRequest("t", Tokens((5, 1032))))
    assert failed.code == InvalidRequest.code
    assert "1031" in failed.message


def test_a_failing_batch_costs_its_row_alone(engines, monkeypatch):
    engine = engines(T5)
    runner = engine._work.loaded.runner

    class Fussy:
        def translate_batch(self, read, *rest, **options):
            if any("700" in row for row in read):
                raise RuntimeError("std::bad_alloc")
            if any("701" in row for row in read):
                raise ValueError("broken on purpose")
            return runner.translate_batch(read, *rest, **options)

    monkeypatch.setattr(engine._work.careful, "limits", engine._work.careful.limits)
    monkeypatch.setattr(engine._work.loaded, "runner", Fussy())
    requests = [
        GenerateRequest(str(at), Tokens((20, token)), GenerationParams(max_new_tokens=4))
        for at, token in enumerate((30, 700, 31, 701, 32))
    ]
    found = run(engine.generate(requests))
    assert [isinstance(made, Completion) for made in found] == [True, False, True, False, True]
    assert found[1].code == OutOfMemory.code
    assert found[3].code == EngineFailed.code


def test_the_event_loop_stays_responsive(engines):
    engine = engines(T5)

    async def check() -> float:
        lags, done = [], False

        async def clock() -> None:
            while not done:
                before = time.perf_counter()
                await asyncio.sleep(0.002)
                lags.append(time.perf_counter() - before - 0.002)

        ticking = asyncio.ensure_future(clock())
        await engine.generate(T5.requests(64, max_new_tokens=60))
        done = True
        await ticking
        return sorted(lags)[len(lags) // 2]

    assert run(check()) < 0.05


def test_the_library_says_nothing_on_its_own(engines, caplog):
    with caplog.at_level(logging.WARNING):
        one(engines(T5), T5.ask("summarize: 1 ring"))
    assert caplog.records == []
