"""What every engine promises, whichever library is behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import EngineClosed, PromptTooLong, UnsupportedOption
from bakeoff.core.outputs import Completion, Failure, Likelihood
from bakeoff.core.requests import (
    GenerateRequest,
    GenerationParams,
    ScoreRequest,
    Text,
    Tokens,
)
from tests.contract.targets import SUITE, complete, run, streamed, texts
from tests.support import is_full

pytestmark = [
    pytest.mark.torch,
    pytest.mark.parametrize("target", SUITE, ids=lambda target: target.label),
]


@pytest.fixture
def engine(target, opened):
    return opened(target)


def test_every_request_gets_one_outcome_and_generate_keeps_the_order(target, engine):
    requests = target.requests(20)
    outcomes = complete(engine, requests)
    assert sorted(o.id for o in outcomes) == sorted(r.id for r in requests)
    assert [o.id for o in run(engine.generate(requests))] == [r.id for r in requests]
    for outcome in outcomes:
        assert isinstance(outcome, Completion), outcome
        assert outcome.usage.completion == len(outcome.token_ids)
        assert outcome.usage.prompt > 0
        assert outcome.timing.done is not None
        assert outcome.timing.done >= (outcome.timing.queued or 0.0)


def test_a_text_does_not_depend_on_its_company(target, engine):
    requests = target.requests(12)
    together = texts(engine, requests)
    assert [texts(engine, [request])[0] for request in requests[:4]] == together[:4]
    assert texts(engine, requests[::-1]) == together[::-1]


def test_sampled_texts_are_the_same_alone_in_company_and_in_another_engine(target, engine):
    requests = [
        target.ask(text, f"s{at}", temperature=1.5, seed=at, top_p=0.95)
        for at, text in enumerate(target.inputs(6))
    ]
    if engine.unsupported(requests[0]):
        pytest.skip("does not sample")
    together = texts(engine, requests)
    assert texts(engine, requests[2:3]) == together[2:3]
    again = target.open(max_batch=4)
    assert texts(again, requests[::-1]) == together[::-1]
    run(again.close())


def test_limits_hold_and_are_told(target, engine):
    requests = [target.ask(text, f"m{at}", max_new_tokens=3 + at)
                for at, text in enumerate(target.inputs(6))]  # fmt: skip
    for at, outcome in enumerate(run(engine.generate(requests))):
        assert len(outcome.token_ids) <= 3 + at
        if outcome.finish is FinishReason.LENGTH:
            assert len(outcome.token_ids) == 3 + at


def test_chunks_add_up_and_only_the_last_says_how_it_ended(target, engine):
    for request in target.requests(3, max_new_tokens=60):
        whole = run(engine.generate([request]))[0]
        chunks = streamed(engine, request)
        assert "".join(chunk.text for chunk in chunks) == whole.text
        assert [chunk.finish for chunk in chunks] == [None] * (len(chunks) - 1) + [whole.finish]
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.completion == whole.usage.completion
        assert not any("\ufffd" in chunk.text for chunk in chunks)


def _crossings(text: str, pieces: list[str]) -> Iterator[str]:
    """Substrings of 2 to 12 characters that cross a border between two pieces."""
    border = 0
    for piece in pieces[:-1]:
        border += len(piece)
        for begin in range(max(0, border - 5), border):
            for end in range(border + 1, min(len(text), begin + 12) + 1):
                yield text[begin:end]


def test_stop_strings_never_show_in_any_part(target, engine):
    request = target.requests(3, max_new_tokens=40)[2]
    whole = texts(engine, [request])[0]
    pieces = [chunk.text for chunk in streamed(engine, request)]
    stops = sorted(set(_crossings(whole, pieces)))
    assert stops
    if not is_full():
        stops = stops[:: max(1, len(stops) // 60)]
    asked = [
        target.ask(target.inputs(3)[2], f"x{at}", max_new_tokens=40, stop=(stop,))
        for at, stop in enumerate(stops)
    ]
    for stop, outcome in zip(stops, run(engine.generate(asked)), strict=True):
        assert outcome.text == whole[: whole.find(stop)], stop
        assert outcome.finish is FinishReason.STOP
    for one, stop in list(zip(asked, stops, strict=True))[:: max(1, len(stops) // 12)]:
        chunks = streamed(engine, one)
        assert "".join(chunk.text for chunk in chunks) == whole[: whole.find(stop)], stop
        assert chunks[-1].finish is FinishReason.STOP


def test_several_stops_and_a_near_miss(target, engine):
    text = target.inputs(1)[0]
    whole = texts(engine, [target.ask(text)])[0]
    middle = whole[3:6]
    near = middle + "\0never"
    plain = texts(engine, [target.ask(text, stop=(near,))])[0]
    assert plain == whole
    several = target.ask(text, stop=(near, middle + whole[6:8], middle, whole[8:10]))
    assert texts(engine, [several])[0] == whole[: whole.find(middle)]
    first = target.ask(text, stop=(whole[0],))
    assert texts(engine, [first])[0] == ""
    chunks = streamed(engine, target.ask(text, stop=(near,)))
    assert "".join(chunk.text for chunk in chunks) == whole


def test_a_failing_neighbour_costs_only_itself(target, engine):
    good = target.requests(5)
    adapted = GenerateRequest("g", Text("x"), adapter="no such")
    requests = [*good[:2], adapted, *good[2:]]
    expected = texts(engine, good)
    outcomes = run(engine.generate(requests))
    assert [o.text for o in outcomes if isinstance(o, Completion)] == expected
    failure = outcomes[2]
    assert isinstance(failure, Failure)
    assert failure.code == UnsupportedOption.code
    assert "adapter" in failure.message
    assert engine.unsupported(adapted) == ["adapter"]


def test_a_prompt_that_is_too_long_names_both_numbers(target, engine):
    if target.fake:
        engine = replace(target, name=f"{target.name}?context=30").open()
        limit, prompt = 30, Text("a" * 31)
    else:
        limit = engine.capabilities.context_length - (engine.capabilities.kind == "causal")
        prompt = Tokens((20,) * (limit + 1))
    outcome = run(engine.generate([GenerateRequest("long", prompt)]))[0]
    assert isinstance(outcome, Failure)
    assert outcome.code == PromptTooLong.code
    assert str(limit + 1) in outcome.message
    assert str(limit) in outcome.message


def test_cut_is_counted_and_the_answer_comes(target, engine):
    if target.fake:
        engine = replace(target, name=f"{target.name}?context=30").open()
    text = "1 ring 2 brush 3 lamp " * 100
    request = GenerateRequest("c", Text(text), GenerationParams(max_new_tokens=8), truncate="cut")
    outcome = run(engine.generate([request]))[0]
    assert isinstance(outcome, Completion), outcome
    assert outcome.usage.cut > 0
    assert outcome.usage.cut + outcome.usage.prompt == len(run(engine.encode(text)))


def test_choices_are_numbered(target, engine):
    request = target.ask(target.inputs(1)[0], n=3, temperature=2.0)
    if engine.unsupported(request):
        request = target.ask(target.inputs(1)[0], n=3)
    outcomes = complete(engine, [request])
    assert sorted(outcome.choice for outcome in outcomes) == [0, 1, 2]
    assert {outcome.id for outcome in outcomes} == {"a"}


def test_requests_are_pulled_as_there_is_room(target, engine):
    pulled = 0

    async def source() -> AsyncIterator[GenerateRequest]:
        nonlocal pulled
        for request in target.requests(8) * 1000:
            pulled += 1
            yield request

    async def first() -> None:
        outcomes = engine.complete(source())
        async for _ in outcomes:
            break
        await outcomes.aclose()

    run(first())
    assert 1 <= pulled <= 1024


def test_a_source_that_pauses_holds_nothing_back(target, engine):
    async def check() -> None:
        more = asyncio.Event()

        async def source() -> AsyncIterator[GenerateRequest]:
            for request in target.requests(8):
                yield request
            await more.wait()
            yield target.ask("last", "last")

        seen = []
        async for outcome in engine.complete(source()):
            seen.append(outcome.id)
            if len(seen) == 8:
                more.set()
        assert seen[-1] == "last"

    run(asyncio.wait_for(check(), 60))


def test_closing_the_iterator_frees_the_engine(target, engine):
    async def check() -> None:
        outcomes = engine.complete(target.requests(40))
        async for _ in outcomes:
            break
        await outcomes.aclose()
        after = await asyncio.wait_for(engine.generate([target.ask("1 ring", "b")]), 60)
        assert isinstance(after[0], Completion)

    run(check())


def test_aborting_an_unknown_id_is_ignored(target, engine):
    run(engine.abort("nobody"))


def test_likelihoods_hold_one_number_a_token(target, engine):
    if not engine.capabilities.likelihood:
        pytest.skip("no likelihoods")
    requests = [
        ScoreRequest(f"l{at}", Text(text), " ring") for at, text in enumerate(target.inputs(5))
    ]
    requests.insert(2, ScoreRequest("empty", Text("x"), ""))

    async def check() -> dict[str, Likelihood | Failure]:
        return {outcome.id: outcome async for outcome in engine.score(requests)}

    outcomes = run(check())
    assert outcomes.keys() == {request.id for request in requests}
    assert isinstance(outcomes.pop("empty"), Failure)
    for outcome in outcomes.values():
        assert isinstance(outcome, Likelihood), outcome
        assert len(outcome.token_ids) == len(outcome.logprobs) == len(outcome.best) > 0
        assert all(logprob <= 0.0 for logprob in outcome.logprobs)


def test_encode_and_decode_are_inverse(target, engine):
    text = "1 ring of plain glass"
    assert run(engine.decode(run(engine.encode(text)))).strip() == text


def test_a_closed_engine_refuses_and_closes_again(target):
    engine = target.open()
    run(engine.close())
    run(engine.close())
    outcomes = complete(engine, target.requests(3))
    assert [outcome.code for outcome in outcomes] == [EngineClosed.code] * 3
