"""What was computed for a prompt is found again by the same key alone, unless all share it."""

from __future__ import annotations

import pytest

from tests.serving.serverthread import Server, real
from tests.zoo import zoo_inputs, zoo_path

pytestmark = pytest.mark.torch
KEYS = ("first key", "second key")


def _head(key):
    return {"authorization": f"Bearer {key}"}


def _cached(server, key, path="/v1/completions", **more):
    text = " ".join(zoo_inputs("llama", 6))
    body = {"prompt": text, "max_tokens": 2, "temperature": 0, **more}
    answer = server.post(path, body, headers=_head(key))
    usage = answer.json()["usage"]
    assert usage["prompt_tokens"] > 64
    return usage["prompt_tokens_details"]["cached_tokens"]


@pytest.fixture
def server(request):
    running = Server([real(str(zoo_path("llama")), "llama")], **request.param)
    yield running
    running.close()


@pytest.mark.parametrize("server", [{"keys": KEYS}], indirect=True)
def test_keys_do_not_share_prompts(server):
    first, second = KEYS
    assert [_cached(server, first), _cached(server, second)] == [0, 0]
    assert _cached(server, first) > 0
    assert _cached(server, second) > 0


@pytest.mark.parametrize(
    "server", [{"keys": KEYS, "share_cache": True}, {}], indirect=True, ids=["said", "no keys"]
)
def test_they_do_where_that_is_said(server):
    first, second = KEYS
    assert _cached(server, first) == 0
    assert _cached(server, second) > 0


@pytest.mark.parametrize("server", [{"keys": KEYS}], indirect=True)
def test_every_wire_format_keeps_to_its_key(server):
    """What a key asked in one format it finds in the others, and another key finds nothing."""
    text = " ".join(zoo_inputs("llama", 6))
    asked = [
        ("/completion", {"prompt": text, "n_predict": 1}),
        ("/generate", {"inputs": text, "parameters": {"max_new_tokens": 1}}),
        ("/api/generate", {"model": "llama", "prompt": text, "raw": True, "stream": False}),
    ]

    def cached():
        lines = server.http.get("/metrics", headers=_head(KEYS[0])).text.splitlines()
        (line,) = [one for one in lines if one.startswith("bakeoff_cached_tokens_total{")]
        return float(line.rpartition(" ")[2])

    _cached(server, KEYS[0])
    for key, finds in ((KEYS[0], True), (KEYS[1], False)):
        for path, body in asked[:1] if key == KEYS[1] else asked:
            before = cached()
            assert server.post(path, body, headers=_head(key)).status_code == 200
            assert (cached() > before) == finds, path
