"""A text that repeats itself is ended where the operator said so, counted, and told apart."""

from __future__ import annotations

from functools import partial

import pytest

from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from bakeoff.serving.models import Entry
from tests.serving.serverthread import Server, events
from tests.zoo import zoo_inputs, zoo_path

pytestmark = pytest.mark.torch
TOKEN = "40"
SAME = {"logit_bias": {TOKEN: 100}, "temperature": 0, "max_tokens": 50}
"""Every token is the same."""


def looping(name, engine, stop_loops):
    facts = describe(ModelRef.parse(str(zoo_path(name)), engine=engine))
    options = EngineOptions(threads=1, stop_loops=stop_loops)
    opener = partial(open_engine, engine, facts, options)
    described = partial(describe, facts.ref)
    return Entry(f"{name}-{stop_loops}", facts, opener, described, pinned=True)


@pytest.fixture(scope="module")
def server():
    entries = [looping("llama", "transformers", 6), looping("llama", "transformers", None)]
    running = Server([*entries, looping("t5", "transformers", 6)])
    yield running
    running.close()


@pytest.mark.parametrize("model", ["llama-6", "t5-6"])
@pytest.mark.parametrize("form", [str, lambda text: [text]], ids=["alone", "as a list"])
def test_it_ends_there_and_says_so(server, model, form):
    before = server.metric("bakeoff_requests_looped_total")
    body = SAME | {"model": model, "prompt": form(zoo_inputs(model[:-2], 1)[0]), "num_beams": 1}
    made = server.post("/v1/completions", body).json()
    (choice,) = made["choices"]
    assert (choice["finish_reason"], choice["stop_reason"]) == ("length", "loop")
    assert made["usage"]["completion_tokens"] == 6
    assert server.metric("bakeoff_requests_looped_total") == before + 1


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_streams_say_it_in_their_last_chunk(server, path):
    text = zoo_inputs("llama", 1)[0]
    said = {"prompt": text, "messages": [{"role": "user", "content": text}]}
    answer = server.post(path, SAME | said | {"model": "llama-6", "stream": True})
    told = [one["choices"][0] for one in events(answer.text) if one["choices"]]
    assert [one.get("stop_reason") for one in told if one["finish_reason"]] == ["loop"]
    assert all(one["finish_reason"] in (None, "length") for one in told)


def test_it_goes_on_where_nothing_was_said(server):
    before = server.metric("bakeoff_requests_looped_total")
    body = SAME | {"model": "llama-None", "prompt": zoo_inputs("llama", 1)[0]}
    made = server.post("/v1/completions", body).json()
    assert made["usage"]["completion_tokens"] == 50
    assert "stop_reason" not in made["choices"][0]
    assert server.metric("bakeoff_requests_looped_total") == before


def test_texts_that_do_not_loop_are_the_same(server):
    for text in zoo_inputs("llama", 3):
        body = {"prompt": text, "max_tokens": 30, "temperature": 0}
        made = [
            server.post("/v1/completions", body | {"model": f"llama-{one}"}).json()["choices"]
            for one in (6, None)
        ]
        assert made[0] == made[1]
