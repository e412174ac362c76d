"""Real models behind the scheduler: every text is the one that `generate` gives the row."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.engines.transformers.stepping import told
from tests import zoo
from tests.contract.targets import ZOO, Target
from tests.support import scale
from tests.unit.engines.steps.driven import Driven, completed, ids
from tests.zoo import zoo_inputs, zoo_path

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Recommended. pip install"),
]
LLAMA, T5, BART = Target("llama"), Target("t5"), Target("bart")


@pytest.fixture(scope="module")
def driven():
    found: dict[str, Driven] = {}
    return lambda target: found.setdefault(target.name, Driven(target))


def mixed(target: Target, count: int = 10) -> list:
    """Requests of all lengths, read and written."""
    made = target.requests(count)
    return [
        replace(one, params=replace(one.params, max_new_tokens=4 + 9 * at % 50))
        for at, one in enumerate(made)
    ]


@pytest.mark.parametrize("target", ZOO, ids=lambda target: target.label)
def test_rows_that_come_and_go_are_those_of_generate(target):
    driven = Driven(target, {"prefix_bytes": 0})
    driven.paced(rows=4, chunk=24)
    requests = mixed(target)
    assert ids(driven.loop(requests, stagger=3)) == ids(driven.batch(requests))


@pytest.mark.parametrize("name", [one for one in ("gemma3", "mistral") if one in zoo.NAMES])
def test_rows_beyond_the_sliding_window_are_those_of_generate(name):
    target = Target(name)
    window = json.loads((zoo_path(name) / "config.json").read_text())["sliding_window"]
    driven = Driven(target, {"prefix_bytes": 0})
    driven.paced(chunk=window // 2 - 1, gulp=window // 2 + 1)
    texts = sorted(zoo_inputs(name, 60, seed=3), key=len)
    long = " ".join(text for text in texts[-3:])
    requests = [
        target.ask(text, f"w{at}", max_new_tokens=window + 10)
        for at, text in enumerate([long, texts[0], texts[-1], long])
    ]
    made = driven.loop(requests, stagger=5)
    assert made[0].usage.prompt > 1.5 * window
    assert ids(made) == ids(driven.batch(requests))


MILD = (
    {"temperature": 1.0},
    {"temperature": 1.5, "top_p": 0.9},
    {"temperature": 2.0, "top_k": 8},
    {"temperature": 1.5, "min_p": 0.05},
)
"""Not so hot that tokens of nearly equal probability, whose order hangs on rounding, are drawn."""


@pytest.mark.parametrize("target", [LLAMA, T5], ids=lambda target: target.label)
def test_sampled_rows_are_those_of_batches_whatever_the_company(target, driven):
    model = driven(target)
    requests = [
        target.ask(text, f"s{at}", max_new_tokens=24, seed=at % 7, **MILD[at % len(MILD)])
        for at, text in enumerate(target.inputs(scale(200)))
    ]
    model.paced(rows=16)
    together = model.loop(requests)
    assert ids(together) == ids(model.batch(requests))
    model.paced(rows=3)
    assert ids(model.loop(requests[::-1], stagger=1)) == ids(together)[::-1]


@pytest.mark.parametrize("target", [LLAMA, BART], ids=lambda target: target.label)
def test_settings_of_all_kinds_share_a_step(target, driven):
    model = driven(target)
    text = target.inputs(1)[0]
    plain = model.batch([target.ask(text)])[0].text
    settings = [
        {},
        {"stop": (plain[5:8],)},
        {"repetition_penalty": 1.4},
        {"no_repeat_ngram_size": 2},
        {"frequency_penalty": 0.7, "presence_penalty": 0.4},
        {"logit_bias": ((25, 6.0), (31, -9.0))},
        {"min_new_tokens": 30},
        {"stop_ids": (40, 41, 42, 43, 44)},
        {"temperature": 3.0, "seed": 3, "n": 3},
        {"n": 2},
    ]
    requests = [target.ask(text, f"k{at}", **said) for at, said in enumerate(settings)]
    model.paced(rows=16)
    found, wanted = model.loop(requests), model.batch(requests)
    assert [(one.id, one.text, one.finish) for one in found] == [
        (one.id, one.text, one.finish) for one in wanted
    ]


def test_log_probabilities_are_those_of_batches(driven):
    model = driven(LLAMA)
    requests = [replace(one, logprobs=3) for one in LLAMA.requests(3, max_new_tokens=12)]
    for found, wanted in zip(model.loop(requests), model.batch(requests), strict=True):
        assert [one.id for one in found.logprobs] == [one.id for one in wanted.logprobs]
        assert [one.text for one in found.logprobs] == [one.text for one in wanted.logprobs]
        for a, b in zip(found.logprobs, wanted.logprobs, strict=True):
            assert a.logprob == pytest.approx(b.logprob, abs=1e-4)
            assert [token for token, _ in a.top] == [token for token, _ in b.top]


def test_prompts_are_told_the_same_however_they_are_read(monkeypatch):
    driven = Driven(LLAMA)
    requests = [replace(one, prompt_logprobs=2) for one in LLAMA.requests(5, max_new_tokens=4)]
    wanted = driven.loop(requests)
    size = driven.worker.tokens.vocabulary
    for pace, numbers in (({"chunk": 7, "gulp": 7}, 2**25), ({"gulp": 512}, 5 * size)):
        driven.paced(**pace)
        monkeypatch.setattr(told, "_NUMBERS", numbers)
        alone = [driven.loop([one])[0] for one in requests]
        for made in (alone, driven.loop(requests, stagger=1)):
            for one, same in zip(made, wanted, strict=True):
                assert one.token_ids == same.token_ids
                check_prompts(one, same)


@pytest.mark.parametrize("reads", [1, 3, 6])
def test_a_row_that_is_read_again_tells_its_prompt_once(reads):
    driven = Driven(LLAMA)
    driven.paced(chunk=16, gulp=16)
    request = replace(LLAMA.requests(1, max_new_tokens=6)[0], prompt_logprobs=2)
    (wanted,) = driven.loop([request])
    (sink,) = driven.add(request)
    for _ in range(reads):
        driven.scheduler.turn()
    scheduler = driven.scheduler
    for seq in [*scheduler._reading, *scheduler._writing]:
        scheduler._put_back(seq)
    driven.finish()
    check_prompts(completed(sink), wanted)
    assert completed(sink).token_ids == wanted.token_ids


def check_prompts(made, wanted):
    assert len(made.prompt_logprobs) == made.usage.prompt
    pairs = list(zip(made.prompt_logprobs, wanted.prompt_logprobs, strict=True))
    assert pairs[0] == (None, None)
    for one, same in pairs[1:]:
        assert (one.id, one.text) == (same.id, same.text)
        assert one.logprob == pytest.approx(same.logprob, abs=1e-4)


@pytest.mark.parametrize("target", [LLAMA, BART], ids=lambda target: target.label)
def test_rows_that_lose_their_place_go_on_where_they_were(target):
    driven = Driven(target, {"prefix_bytes": 0})
    requests = target.requests(6, max_new_tokens=40)
    wanted = ids(driven.batch(requests))
    rooms = max(map(len, wanted)) + 40
    driven.paced(tokens=3 * rooms, reserve=1)
    put_back = []
    original = driven.scheduler._put_back
    driven.scheduler._put_back = lambda seq: (put_back.append(seq), original(seq))
    assert ids(driven.loop(requests)) == wanted
    assert put_back


def test_a_cancelled_row_leaves_the_texts_of_others_alone(driven):
    model = driven(LLAMA)
    model.paced(rows=8)
    requests = LLAMA.requests(5, max_new_tokens=40)
    wanted = ids(model.batch(requests))
    sinks = [sink for request in requests for sink in model.add(request)]
    for _ in range(8):
        model.scheduler.turn()
    model.control.abort(requests[1].id)
    model.scheduler.turn()
    gone = completed(sinks[1])
    assert gone.finish is FinishReason.CANCELLED
    assert gone.token_ids == wanted[1][: len(gone.token_ids)]
    model.finish()
    model.control.ids.clear()
    others = [completed(sink).token_ids for sink in (sinks[0], *sinks[2:])]
    assert others == [wanted[0], *wanted[2:]]
