"""Who may speak to the server."""

from __future__ import annotations

import pytest

from bakeoff.core.errors import InvalidRequest
from bakeoff.serving.limits import Limits
from bakeoff.serving.options import ServeOptions
from tests.serving.serverthread import fake

BODY = {"messages": [{"role": "user", "content": "hello"}]}
PAGE = "https://page.example"


@pytest.fixture(scope="module")
def guarded():
    from tests.serving.serverthread import Server

    running = Server(
        [fake("fake://echo", "echo")],
        keys=("right", "also right"),
        origins=frozenset({PAGE}),
        hosts=frozenset({"models.example"}),
        limits=Limits(body_bytes=2000),
    )
    yield running
    running.close()


KEY = {"authorization": "Bearer right"}


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 401, "invalid_api_key"),
        ({"authorization": "Bearer wrong"}, 401, "invalid_api_key"),
        ({"authorization": "Bearer"}, 401, "invalid_api_key"),
        ({"authorization": "right"}, 401, "invalid_api_key"),
        ({"x-api-key": "rïght".encode()}, 401, "invalid_api_key"),
        (KEY, 200, None),
        ({"x-api-key": "also right"}, 200, None),
        ({"api-key": "right"}, 200, None),
        (KEY | {"host": "evil.example"}, 403, "host_not_allowed"),
        (KEY | {"host": "127.0.0.1.evil.example"}, 403, "host_not_allowed"),
        (KEY | {"host": ""}, 403, "host_not_allowed"),
        (KEY | {"host": "models.example:80"}, 200, None),
        (KEY | {"host": "LOCALHOST:8080"}, 200, None),
        (KEY | {"host": "[::1]:8080"}, 200, None),
        (KEY | {"origin": "https://evil.example"}, 403, "origin_not_allowed"),
        (KEY | {"origin": "null"}, 403, "origin_not_allowed"),
        (KEY | {"origin": PAGE + ".evil.example"}, 403, "origin_not_allowed"),
        (KEY | {"origin": "http://localhost:8080", "host": "localhost:8080"}, 200, None),
        (KEY | {"origin": PAGE}, 200, None),
        (KEY | {"content-type": "text/plain"}, 415, "unsupported_media_type"),
        (KEY | {"content-type": "application/x-www-form-urlencoded"}, 415,
         "unsupported_media_type"),
        (KEY | {"content-type": "application/json; charset=utf-8"}, 200, None),
        (KEY | {"content-encoding": "br"}, 415, "unsupported_media_type"),
        (KEY | {"content-encoding": "gzip, gzip"}, 415, "unsupported_media_type"),
        (KEY | {"content-encoding": "gzip"}, 400, "invalid_request"),
    ],
)  # fmt: skip
def test_who_is_let_in(guarded, headers, status, code):
    answer = guarded.post("/v1/chat/completions", BODY, headers=headers)
    assert answer.status_code == status
    if code is not None:
        assert answer.json()["error"]["code"] == code


@pytest.mark.parametrize(
    "path", ["/v1/models", "/version", "/metrics", "/openapi.json", "/v1/models/echo", "/nowhere"]
)
def test_the_key_guards_every_route_but_health(guarded, path):
    assert guarded.http.get(path).status_code == 401
    assert guarded.http.get("/health").status_code == 200


def test_a_page_that_is_named_is_told_so(guarded):
    asked = {"origin": PAGE, "access-control-request-method": "POST"}
    allowed = guarded.http.options("/v1/chat/completions", headers=asked)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (204, PAGE)
    refused = guarded.http.options("/v1/chat/completions", headers={"origin": "https://e.example"})
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers
    answer = guarded.post("/v1/chat/completions", BODY, headers=KEY | {"origin": PAGE})
    assert answer.headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize("known", [True, False])
def test_a_body_that_is_too_large_is_refused(guarded, known):
    data = b'{"messages": "' + b"x" * 4000 + b'"}'
    content = data if known else iter([data[:1000], data[1000:]])
    headers = KEY | {"content-type": "application/json"}
    answer = guarded.http.post("/v1/chat/completions", content=content, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "body_too_large")


def test_request_ids_come_back(guarded):
    said = guarded.http.get("/health", headers={"x-request-id": "mine-1"})
    assert said.headers["x-request-id"] == "mine-1"
    odd = guarded.http.get("/health", headers={"x-request-id": "x" * 500})
    assert len(odd.headers["x-request-id"]) == 32


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"host": "0.0.0.0"}, "--no-auth"),
        ({"host": "::"}, "--api-key"),
        ({"host": "models.example"}, "--api-key"),
        ({"keys": ("k",), "no_auth": True}, "keep one"),
        ({"keys": (" ",)}, "blank"),
    ],
)
def test_a_server_that_would_be_open_does_not_start(options, said):
    with pytest.raises(InvalidRequest, match=said):
        ServeOptions(**options)


def test_logs_and_metrics_hold_no_prompt(opened, caplog):
    caplog.set_level("DEBUG")
    server = opened(fake("fake://echo?fail_text=BOOM", "echo"))
    secret = "zq secret words"
    server.post("/v1/completions", {"prompt": secret, "zq": secret})
    server.post("/v1/completions", {"prompt": f"BOOM {secret}", "stream": True})
    server.post("/v1/completions", {"prompt": [secret, 1]})
    server.post("/v1/completions", {"prompt": secret, "temperature": secret})
    assert secret not in caplog.text
    assert secret not in server.http.get("/metrics").text
    assert "fields that are ignored: zq" in caplog.text
    spoken = opened(fake("fake://echo", "echo"), log_prompts=True)
    spoken.post("/v1/completions", {"prompt": secret})
    assert secret in caplog.text
