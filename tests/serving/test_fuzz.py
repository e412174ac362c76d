"""Bodies that no client should send: never a 500, and the server goes on."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bakeoff.serving.llamacpp.bodies import CompletionBody as LlamaCompletionBody
from bakeoff.serving.llamacpp.bodies import InfillBody
from bakeoff.serving.ollama.bodies import ChatBody as OllamaChatBody
from bakeoff.serving.ollama.bodies import GenerateBody, Options
from bakeoff.serving.openai.bodies import ChatBody, CompletionBody
from bakeoff.serving.routes.embeddings import EmbeddingsBody
from bakeoff.serving.routes.tasks import TranslateBody
from bakeoff.serving.routes.tokens import DetokenizeBody, TokenizeBody
from bakeoff.serving.tgi.bodies import GenerateBody as TgiBody
from bakeoff.serving.tgi.bodies import Parameters
from tests.support import scale

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.sampled_from([0, 1, -1, 2**31, 2**63, "", "x", "none", "auto", "echo", "\ud800", "\0"])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
PROMPTS = (
    st.text(max_size=20)
    | st.lists(st.text(max_size=5), max_size=4)
    | st.lists(st.integers(-2, 300), max_size=6)
    | st.lists(st.lists(st.integers(0, 2**33), max_size=3), max_size=3)
    | JSON
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "system", "assistant", "tool", "x"])},
        optional={"content": st.text(max_size=9) | JSON, "tool_calls": JSON, "name": JSON},
    ),
    max_size=4,
)
VALUES = {
    "n": st.integers(-1, 5),
    "max_tokens": st.integers(-1, 40),
    "temperature": st.floats(-1, 3),
    "logprobs": st.integers(-1, 25) | st.booleans(),
    "stop": st.text(max_size=3) | st.lists(st.text(max_size=2), max_size=3),
    "logit_bias": st.dictionaries(st.integers(-5, 400).map(str), st.floats(-200, 200), max_size=3),
    "stream": st.booleans(),
    "n_predict": st.integers(-1, 40),
    "n_probs": st.integers(-1, 25),
    "echo": st.booleans(),
    "model": st.sampled_from(["echo", "words", "seq", "fim", "short", "encoder", "nochat", "nix"]),
}


def _bodies(kind, **own):
    names = [*kind.model_fields, *kind.refused, "user", "unknown"]
    fields = {name: VALUES.get(name, JSON) | JSON for name in names} | own

    def of(chosen):
        pairs = st.sampled_from(chosen).flatmap(lambda name: st.tuples(st.just(name), fields[name]))
        return st.lists(pairs, max_size=5).map(dict)

    sensible = st.fixed_dictionaries(own).flatmap(
        lambda base: of([name for name in VALUES if name in names]).map(lambda more: more | base)
    )
    return sensible | of(list(fields))


OPTIONS = st.dictionaries(st.sampled_from(list(Options.model_fields)), JSON, max_size=3)
PARAMETERS = st.dictionaries(st.sampled_from(list(Parameters.model_fields)), JSON, max_size=3)
BODIES = {
    "/v1/completions": _bodies(CompletionBody, prompt=PROMPTS),
    "/v1/chat/completions": _bodies(ChatBody, messages=MESSAGES | JSON),
    "/v1/embeddings": _bodies(EmbeddingsBody, input=PROMPTS),
    "/v1/tasks/translate": _bodies(TranslateBody, input=PROMPTS),
    "/tokenize": _bodies(TokenizeBody, prompt=st.text(max_size=9) | JSON),
    "/detokenize": _bodies(DetokenizeBody, tokens=PROMPTS),
    "/completion": _bodies(LlamaCompletionBody, prompt=PROMPTS),
    "/infill": _bodies(InfillBody, input_suffix=st.text(max_size=9)),
    "/generate": _bodies(TgiBody, inputs=st.text(max_size=9), parameters=PARAMETERS),
    "/api/generate": _bodies(GenerateBody, prompt=st.text(max_size=9), options=OPTIONS),
    "/api/chat": _bodies(OllamaChatBody, messages=MESSAGES, options=OPTIONS),
}
ANSWERS = {200, 400, 404, 422}


@pytest.mark.parametrize("path", BODIES)
def test_no_body_makes_the_server_fail(server, path):
    statuses: set[int] = set()

    @settings(
        max_examples=scale(1000),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(body=BODIES[path])
    @example(body={"prompt": "x", "messages": [{"role": "user", "content": "x"}], "seed": 2**70})
    @example(body={"model": "fim", "input_prefix": "x", "prompt": "x", "tokens": [1]})
    @example(body={"model": "seq", "input": "hello"})
    @example(body={"model": "encoder", "input": ["x"], "messages": []})
    @example(body={"messages": []})
    @example(body={"prompt": "\ud800", "inputs": "\ud800", "content": None, "\ud800": "x"})
    @example(body={"prompt": "\ud800"})
    @example(body={"input_suffix": "\ud800", "input": ["x", "\ud800"]})
    @example(body={"messages": [{"role": "user", "content": "\ud800"}]})
    def send(body):
        answer = server.http.post(
            path, content=json.dumps(body), headers={"content-type": "application/json"}
        )
        statuses.add(answer.status_code)
        assert answer.status_code in ANSWERS, (body, answer.text)
        if answer.status_code != 200:
            assert answer.json()["error"]
        else:
            assert '"error":' not in answer.text

    send()
    assert 200 in statuses and statuses & {400, 422}
    assert server.http.get("/health").status_code == 200
    assert server.metric("bakeoff_requests_running") == 0
