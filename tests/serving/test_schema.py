"""Requests drawn from the server's own OpenAPI schema, right and wrong: never a 500."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.serving.asked import POSTED
from tests.support import scale

MODELS = ("echo", "words", "seq", "fim", "short", "encoder", "nochat")
ANSWERS = {200, 400, 401, 403, 404, 405, 413, 415, 422, 431}
"""What a request may come to that can be at fault itself; faults of the server are others."""
GETS = ("/health", "/version", "/metrics", "/v1/models", "/v1/models/{name}", "/tokenizer_info",
        "/props", "/slots", "/api/tags", "/api/ps", "/api/version", "/info")  # fmt: skip


@pytest.fixture(scope="module")
def described(server):
    return schemathesis.openapi.from_dict(server.http.get("/openapi.json").json())


def drawn(described, path, method):
    """Cases of a route, as often right as wrong."""
    operation = described[path][method]
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    return st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])


def sent(server, case, model):
    """What became of a case; the model is mostly one that is there."""
    if isinstance(case.body, dict) and model is not None:
        case.body = case.body | {"model": model}
    asked = case.as_transport_kwargs(base_url=server.url)
    known = ("method", "url", "params", "headers", "json", "data")
    told = {name: value for name, value in asked.items() if name in known}
    if "data" in told:
        told["content"] = told.pop("data")
    told["headers"] = {k: v for k, v in told["headers"].items() if k.lower() != "user-agent"}
    return server.http.request(**told)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", path) for path in POSTED] + [("GET", path) for path in GETS]
)
def test_no_request_makes_the_server_fail(server, described, method, path):
    @settings(
        max_examples=scale(100 if method == "POST" else 50),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=drawn(described, path, method), model=st.none() | st.sampled_from(MODELS))
    def send(case, model):
        answer = sent(server, case, model)
        assert answer.status_code in ANSWERS, (case.body, answer.text)

    send()
    assert server.http.get("/health").status_code == 200
    assert server.metric("bakeoff_requests_running") == 0


def test_every_route_is_asked(described):
    asked = {("POST", path) for path in POSTED} | {("GET", path) for path in GETS}
    there = {(o.ok().method.upper(), o.ok().path) for o in described.get_all_operations()}
    assert there == asked
