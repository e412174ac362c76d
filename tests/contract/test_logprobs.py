"""Log-probabilities of prompts and in streams, over every engine that says it gives them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from bakeoff.core.codes import FinishReason
from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest, Tokens
from tests.contract.reference import reference
from tests.contract.targets import CAUSAL, SEQ2SEQ, SUITE, complete, run, streamed

pytestmark = pytest.mark.torch
EVERY = list(dict.fromkeys([*SUITE, *CAUSAL, *SEQ2SEQ]))
MOST = 3


def every(targets):
    return pytest.mark.parametrize("target", targets, ids=lambda target: target.label)


def told(target, opened, **asked):
    """The engine and requests of several lengths; skips where it gives no such thing."""
    engine = opened(target)
    requests = [replace(one, **asked) for one in target.requests(5, max_new_tokens=12)]
    if refused := engine.unsupported(requests[0]):
        assert set(refused) <= set(asked), refused
        pytest.skip("gives no such log-probabilities")
    return engine, requests


@every(SEQ2SEQ)
def test_an_encoder_reads_a_prompt_that_has_no_probabilities(target, opened):
    engine, (request, *_) = told(target, opened)
    asked = replace(request, prompt_logprobs=1)
    assert engine.unsupported(asked) == ["prompt_logprobs"]
    (failure,) = run(engine.generate([asked]))
    assert "prompt_logprobs" in failure.message and "decoder-only" in failure.message


@every([one for one in EVERY if not one.fake and one not in SEQ2SEQ])
def test_prompts_have_the_log_probabilities_of_plain_transformers(target, opened):
    engine, requests = told(target, opened, prompt_logprobs=MOST)
    plain = reference(target)
    for request, made in zip(requests, run(engine.generate(requests)), strict=True):
        assert isinstance(made, Completion), made
        ids = plain.inputs(request)["input_ids"][0]
        with torch.inference_mode():
            logs = torch.log_softmax(plain.model(ids[None]).logits[0, :-1].float(), dim=-1)
        first, *rest = made.prompt_logprobs
        assert first is None
        assert [one.id for one in rest] == ids[1:].tolist()
        assert [one.logprob for one in rest] == pytest.approx(
            logs.gather(1, ids[1:, None])[:, 0].tolist(), abs=1e-4
        )
        best = torch.topk(logs, MOST).values.tolist()
        for one, wanted in zip(rest, best, strict=True):
            assert [value for _, value in one.top] == pytest.approx(wanted, abs=1e-4)
            assert one.logprob == dict(one.top).get(one.id, one.logprob), "not the very same float"


@every(EVERY)
def test_a_prompt_is_told_alone_and_nothing_is_written(target, opened):
    engine, requests = told(target, opened, prompt_logprobs=1, logprobs=1)
    silent = [replace(r, params=replace(r.params, max_new_tokens=0)) for r in requests]
    usual = {one.id: one for one in complete(engine, requests)}
    for made in complete(engine, silent):
        assert (made.text, made.token_ids, made.logprobs) == ("", (), ())
        assert made.finish is FinishReason.LENGTH
        assert (made.usage.prompt, made.usage.completion) == (usual[made.id].usage.prompt, 0)
        assert len(made.prompt_logprobs) == made.usage.prompt
        assert values(made.prompt_logprobs) == pytest.approx(
            values(usual[made.id].prompt_logprobs), abs=1e-5
        )
        assert usual[made.id].token_ids
    (chunk,) = streamed(engine, silent[0])
    assert len(chunk.prompt_logprobs) == chunk.usage.prompt
    assert (chunk.text, chunk.token_ids, chunk.logprobs) == ("", (), ())


@every(EVERY)
@pytest.mark.parametrize("lane", ["batch", "chat"])
def test_what_is_told_of_a_prompt_does_not_hang_on_what_was_read_before(target, opened, lane):
    engine, (request, *_) = told(target, opened, prompt_logprobs=1)
    text = " ".join(target.inputs(5))[:300]
    request = replace(request, prompt=target.plain(text), lane=lane)
    plain = replace(request, prompt_logprobs=None)
    first, again, after = (run(engine.generate([one]))[0] for one in (request, request, plain))
    assert len(again.prompt_logprobs) == again.usage.prompt
    assert values(again.prompt_logprobs) == pytest.approx(values(first.prompt_logprobs), abs=1e-5)
    assert again.usage.cached == 0
    assert first.text == again.text == after.text


@every([one for one in CAUSAL if one.name == "llama"])
def test_a_prompt_that_fills_the_window_is_told(target, opened):
    engine = opened(target)
    window = engine.capabilities.context_length
    prompt = Tokens(tuple(20 + at % 30 for at in range(window)))
    params = target.ask("", max_new_tokens=0).params
    request = GenerateRequest("w", prompt, params, prompt_logprobs=0)
    (made,) = run(engine.generate([request]))
    assert isinstance(made, Completion), made
    assert len(made.prompt_logprobs) == window
    with torch.inference_mode():
        logits = reference(target).model(torch.tensor([request.prompt.ids])).logits[0, :-1]
    wanted = torch.log_softmax(logits, -1).gather(1, torch.tensor(request.prompt.ids)[1:, None])
    assert values(made.prompt_logprobs) == pytest.approx(wanted[:, 0].tolist(), abs=1e-4)


@every(EVERY)
def test_chunks_carry_what_the_whole_text_has(target, opened):
    engine, requests = told(target, opened, logprobs=MOST)
    for request in requests[:2]:
        request = replace(request, params=replace(request.params, max_new_tokens=40))
        whole = run(engine.generate([request]))[0]
        chunks = streamed(engine, request)
        check(chunks, whole)
        assert len(chunks) == 1 or sum(bool(one.logprobs) for one in chunks) > 3


@every(EVERY)
def test_held_back_text_holds_its_log_probabilities_back(target, opened):
    engine, (request, *_) = told(target, opened, logprobs=1)
    params = replace(request.params, max_new_tokens=40)
    text = run(engine.generate([replace(request, params=params)]))[0].text
    assert len(text) > 12
    stop = text[6:12]
    asked = replace(request, params=replace(params, stop=(stop,)))
    whole = run(engine.generate([asked]))[0]
    chunks = streamed(engine, asked)
    check(chunks, whole)
    assert whole.text == text[: text.find(stop)]
    for at, chunk in enumerate(chunks[:-1], 1):
        shown = "".join(one.text for one in chunks[:at])
        tokens = [token for one in chunks[:at] for token in one.token_ids]
        assert shown.startswith(run(engine.decode(tokens))), "a token told what was held back"
        assert len(chunk.logprobs) == len(chunk.token_ids)


@every(EVERY)
def test_the_first_chunk_tells_of_the_prompt(target, opened):
    engine, (request, *_) = told(target, opened, logprobs=1, prompt_logprobs=1)
    request = replace(request, params=replace(request.params, n=2))
    whole = sorted(complete(engine, [request]), key=lambda one: one.choice)
    chunks = streamed(engine, request)
    for made in whole:
        first, *rest = [one for one in chunks if one.choice == made.choice]
        assert values(first.prompt_logprobs) == pytest.approx(
            values(made.prompt_logprobs), abs=1e-5
        )
        assert [one.prompt_logprobs for one in rest] == [None] * len(rest)
        check([first, *rest], made)


def values(entries):
    first, *rest = entries
    assert first is None
    return [one.logprob for one in rest]


def check(chunks, whole):
    """All chunks together say what the whole text says."""
    assert "".join(one.text for one in chunks) == whole.text
    found = [one for chunk in chunks for one in chunk.logprobs]
    assert [one.id for one in found] == list(whole.token_ids)
    assert [token for one in chunks for token in one.token_ids] == list(whole.token_ids)
    assert [one.text for one in found] == [one.text for one in whole.logprobs]
    for one, same in zip(found, whole.logprobs, strict=True):
        assert one.logprob == pytest.approx(same.logprob, abs=1e-4)
        assert [v for _, v in one.top] == pytest.approx([v for _, v in same.top], abs=1e-4)
