"""Each architecture of the zoo by itself: first logits, rows in company, languages, templates."""

from __future__ import annotations

import json

import pytest
import torch

from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest, GenerationParams, Message, Messages, Source
from tests import zoo
from tests.contract.reference import Ties, reference
from tests.contract.targets import ZOO, Target, run
from tests.zoo import TRANSLATORS, data_lists, expected, zoo_inputs, zoo_path

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Recommended. pip install"),
]
every = pytest.mark.parametrize("target", ZOO, ids=lambda target: target.label)
TOP = 5
CLOSE = 1e-4
WRITTEN = 32


def spread(target: Target) -> tuple[list[str], list[str]]:
    """Short inputs, and some that are ten times as long."""
    found = sorted(zoo_inputs(target.name, 60, seed=3), key=lambda text: len(text.split()))
    longest, second = found[-1].split(), found[-2].split()
    return found[:3], [*found[-2:], " ".join([*longest, *second])]


def made(engine, requests):
    outcomes = run(engine.generate(requests))
    assert all(isinstance(outcome, Completion) for outcome in outcomes), outcomes
    return outcomes


def first_logits(target: Target, request: GenerateRequest) -> torch.Tensor:
    """Log-probabilities of the first token that plain transformers is free to choose."""
    plain = reference(target)
    inputs = plain.inputs(request)["input_ids"]
    if plain.causal:
        more = {}
    else:
        said = plain.beginning(request.prompt)
        start = plain.model.generation_config.decoder_start_token_id
        begin = [said.get("decoder_start_token_id", start), plain.forced(request.prompt)]
        more = {"decoder_input_ids": torch.tensor([[i for i in begin if i is not None]])}
    with torch.inference_mode():
        return torch.log_softmax(plain.model(inputs, **more).logits[0, -1], dim=-1)


@every
def test_first_logits_of_rows_of_all_lengths_are_those_of_plain_transformers(target, opened):
    short, long = spread(target)
    params = GenerationParams(max_new_tokens=4)
    requests = [
        GenerateRequest(f"f{at}", target.prompt(text), params, logprobs=TOP)
        for at, text in enumerate([*short, *long])
    ]
    for request, outcome in zip(requests, made(opened(target), requests), strict=True):
        forced = reference(target).forced(request.prompt) is not None
        entry = outcome.logprobs[forced]
        wanted = first_logits(target, request)
        found = torch.tensor([logprob for _, logprob in entry.top])
        ids = torch.tensor([token for token, _ in entry.top])
        assert len(ids) == TOP
        assert torch.allclose(found, wanted[ids], atol=CLOSE), request
        assert torch.allclose(found, wanted.topk(TOP).values, atol=CLOSE), request


@every
def test_a_row_is_the_same_alone_in_a_full_batch_and_beside_rows_ten_times_as_long(target, opened):
    engine = opened(target)
    short, long = spread(target)
    assert len(long[-1].split()) >= 10 * len(short[0].split())
    rows = [target.ask(text, f"c{at}", max_new_tokens=WRITTEN) for at, text in enumerate(short)]
    beside = [target.ask(text, f"l{at}", max_new_tokens=WRITTEN) for at, text in enumerate(long)]
    crowd = target.requests(12, max_new_tokens=WRITTEN)
    alone = [made(engine, [row])[0].token_ids for row in (*rows, *beside)]
    # The longest input begins as another does, and may be answered like it.
    assert len({*alone}) >= len(alone) - 1
    for company in ([*rows, *crowd, *beside], [*beside, *rows]):
        found = {o.id: o.token_ids for o in made(engine, company)}
        assert [found[row.id] for row in (*rows, *beside)] == alone
    ties = Ties()
    for row, outcome in zip(
        (rows[0], beside[-1]), made(engine, [rows[0], beside[-1]]), strict=True
    ):
        ties.compare(reference(target), row, outcome)
    assert ties.allowed, ties


@pytest.mark.parametrize("name", [one for one in ("gemma3", "mistral") if one in zoo.NAMES])
def test_long_rows_pass_the_sliding_window(name, opened):
    config = json.loads((zoo_path(name) / "config.json").read_text(encoding="utf-8"))
    target = Target(name)
    _, long = spread(target)
    (outcome,) = made(opened(target), [target.ask(long[-1], max_new_tokens=1)])
    assert outcome.usage.prompt > 1.5 * config["sliding_window"]


@pytest.mark.parametrize("name", TRANSLATORS)
def test_the_tokens_of_both_languages_reach_the_model(name, opened):
    tags, texts = TRANSLATORS[name], zoo_inputs(name, 4, seed=5)
    asked = [
        (data_lists.in_german(text) if said == "de" else text, said, wanted)
        for text in texts
        for said in data_lists.LANGUAGES
        for wanted in data_lists.LANGUAGES
    ]
    params = GenerationParams(max_new_tokens=110)
    requests = [
        GenerateRequest(f"t{at}", Source(text, tags[said], tags[wanted]), params)
        for at, (text, said, wanted) in enumerate(asked)
    ]
    found = [outcome.text.strip() for outcome in made(opened(Target(name)), requests)]
    right = [expected(name, text, language=wanted) for text, _, wanted in asked]
    assert sum(a == b for a, b in zip(found, right, strict=True)) >= len(right) - 1


@pytest.mark.parametrize("name", [one for one in zoo.CHATS if one != "llama"])
def test_a_system_prompt_is_obeyed_with_and_without_a_system_role(name, opened):
    texts = zoo_inputs(name, 4, seed=5)
    requests = [
        GenerateRequest(
            f"s{at}",
            Messages((Message("system", "Answer in German."), Message("user", text))),
            GenerationParams(max_new_tokens=110),
        )
        for at, text in enumerate(texts)
    ]
    found = [outcome.text.strip() for outcome in made(opened(Target(name)), requests)]
    right = [expected(name, text, "Answer in German.") for text in texts]
    assert sum(a == b for a, b in zip(found, right, strict=True)) >= len(right) - 1
