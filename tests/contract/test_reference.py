"""Texts equal plain `transformers.generate`, token for token, whatever the batch around them."""

from __future__ import annotations

import pytest

from bakeoff.core.outputs import Completion, Likelihood
from bakeoff.core.requests import GenerateRequest, ScoreRequest
from tests.contract.reference import Ties, reference
from tests.contract.targets import CONVERTED, EXPORTED, ZOO, collect, complete, run, streamed

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Unfeasible length", "ignore:Recommended. pip install"),
    pytest.mark.parametrize("target", ZOO + CONVERTED + EXPORTED, ids=lambda target: target.label),
]
SETTINGS = [
    {},
    {"repetition_penalty": 1.3},
    {"no_repeat_ngram_size": 2},
    {"no_repeat_ngram_size": 3, "repetition_penalty": 1.1, "min_new_tokens": 20},
    {"min_new_tokens": 40},
]
BEAMS = [
    {"num_beams": 4},
    {"num_beams": 3, "length_penalty": 2.0, "early_stopping": True, "no_repeat_ngram_size": 3},
    {"num_beams": 2, "early_stopping": "never", "length_penalty": 0.5, "repetition_penalty": 1.2},
]
LENGTHS = (12, 25, 50)


def compare(engine, target, requests):
    requests = [request for request in requests if target.promises(request)]
    if not requests:
        pytest.skip("none of these settings is proven")
    ties = Ties()
    for request, made in zip(requests, run(engine.generate(requests)), strict=True):
        assert isinstance(made, Completion), made
        ties.compare(reference(target), request, made)
    assert ties.allowed, ties
    assert ties.tokens > 10 * len(requests)


def test_greedy_rows_of_all_settings_in_one_batch(target, opened):
    requests = [
        target.ask(text, f"g{at}", max_new_tokens=LENGTHS[at % 3], **SETTINGS[at % len(SETTINGS)])
        for at, text in enumerate(target.inputs(15))
    ]
    compare(opened(target), target, requests)


def test_beams(target, opened):
    requests = [
        target.ask(text, f"b{at}", max_new_tokens=LENGTHS[at % 2], **BEAMS[at % len(BEAMS)])
        for at, text in enumerate(target.inputs(9))
    ]
    compare(opened(target), target, requests)


def test_likelihoods_equal_one_row_at_a_time(target, opened):
    engine = opened(target)
    if not engine.capabilities.likelihood:
        pytest.skip("no likelihoods")
    plain = reference(target)
    pairs = [(text, end) for text in target.inputs(4) for end in (" ring", " 1 ring of glass")]
    pairs += [(pairs[0][0] + "  ", "brush"), ("", "ring of")]
    requests = [ScoreRequest(f"s{at}", target.plain(a), b) for at, (a, b) in enumerate(pairs)]
    outcomes = {o.id: o for o in run(collect(engine.score(requests)))}
    encoder = engine.capabilities.kind == "seq2seq"
    for request, (before, after) in zip(requests, pairs, strict=True):
        outcome = outcomes[request.id]
        assert isinstance(outcome, Likelihood), outcome
        moved = before[len(before.rstrip()) :] + after
        context = run(engine.encode(before.rstrip()))
        if encoder:
            told = GenerateRequest("c", target.plain(before.rstrip()))
            context = plain.inputs(told)["input_ids"][0].tolist()
            expected = plain.written(moved)
        else:
            whole = run(engine.encode(before + after))
            expected = whole[len(context) :]
        context = context or [plain.opening]
        assert list(outcome.token_ids) == expected
        wanted = plain.likelihood(request.context, context, expected)
        apart = 1e-5 if target.engine == "transformers" else 1e-4
        assert outcome.logprobs == pytest.approx(wanted, abs=apart, rel=2e-6)


def test_logprobs_belong_to_the_tokens(target, opened):
    request = GenerateRequest("p", target.prompt(target.inputs(1)[0]),
                              target.ask("", max_new_tokens=10).params, logprobs=2)  # fmt: skip
    engine = opened(target)
    if engine.unsupported(request):
        pytest.skip("gives no log-probabilities")
    company = [*target.requests(3), request]
    made = next(o for o in complete(engine, company) if o.id == "p")
    assert [entry.id for entry in made.logprobs] == list(made.token_ids)
    plain = reference(target)
    context = plain.inputs(request)["input_ids"][0].tolist()
    ids = list(made.token_ids)
    # A forced first token is part of what the reference reads, and has no number of its own.
    forced = plain.forced(request.prompt) is not None
    wanted = plain.likelihood(request.prompt, context, ids[forced:])
    found = [entry.logprob for entry in made.logprobs][forced:]
    assert found == pytest.approx(wanted, abs=1e-4)
    for entry in made.logprobs[forced:-1]:  # BART is made to end at the limit
        assert len(entry.top) == 2
        assert entry.top[0] == (entry.id, pytest.approx(entry.logprob))


def test_chunks_of_every_kind_of_tokenizer_add_up(target, opened):
    engine = opened(target)
    request = target.ask(target.inputs(1)[0], max_new_tokens=70)
    made = run(engine.generate([request]))[0]
    chunks = streamed(engine, request)
    assert "".join(chunk.text for chunk in chunks) == made.text
    assert sum((chunk.token_ids for chunk in chunks), ()) == made.token_ids
    plain = reference(target)
    assert made.text == plain.tokenizer.decode(made.token_ids, skip_special_tokens=True)
    assert len(chunks) > 20
