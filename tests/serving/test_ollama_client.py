"""The `ollama` client against the server, and Continue's requests in its format."""

from __future__ import annotations

import json

import ollama
import pytest

HELLO = [{"role": "user", "content": "naïve 🎁"}]


@pytest.fixture(scope="module")
def client(server):
    made = ollama.Client(host=server.url)
    yield made
    made._client.close()


@pytest.mark.parametrize("name", ["echo", "echo:latest"])
def test_a_chat_says_the_same_plain_and_streamed(client, name):
    made = client.chat(model=name, messages=HELLO)
    assert (made.message.content, made.done, made.done_reason) == ("naïve 🎁", True, "stop")
    assert made.prompt_eval_count == len("naïve 🎁".encode())
    assert made.total_duration >= 0
    pieces = list(client.chat(model=name, messages=HELLO, stream=True))
    assert "".join(one.message.content for one in pieces) == "naïve 🎁"
    assert [one.done for one in pieces] == [False] * (len(pieces) - 1) + [True]
    assert pieces[-1].eval_count == made.eval_count


@pytest.mark.parametrize(
    ("more", "text", "reason"),
    [
        ({}, "hello", "stop"),
        ({"options": {"num_predict": 2, "temperature": 0.7, "seed": 1}}, "he", "length"),
        ({"options": {"stop": ["l", ""], "num_predict": -1}}, "he", "stop"),
        ({"raw": True}, "hello", "stop"),
        ({"system": "be brief"}, "hello", "stop"),
        ({"model": "nochat"}, "hello", "stop"),
        ({"model": "seq"}, "HELLO", "stop"),
        ({"model": "fim", "suffix": "!"}, "hello<FILL>!", "stop"),
        ({"prompt": ""}, "", "load"),
    ],
)
def test_a_prompt_is_answered(client, more, text, reason):
    made = client.generate(**({"model": "echo", "prompt": "hello"} | more))
    assert (made.response, made.done_reason) == (text, reason)


def test_models_are_listed_and_shown(client):
    assert [one.model for one in client.list().models][:2] == ["echo", "words"]
    assert {one.model for one in client.ps().models} >= {"echo", "fim"}
    assert ".Suffix" in client.show("fim").template
    assert ".Suffix" not in client.show("echo").template
    assert "num_ctx 40" in client.show("short").parameters


def test_vectors(client):
    made = client.embed(model="encoder", input=["a", "b"])
    assert len(made.embeddings) == 2
    assert client.embeddings(model="encoder", prompt="a").embedding == made.embeddings[0]


@pytest.mark.parametrize(
    ("call", "status", "said"),
    [
        (lambda c: c.chat("nix", HELLO), 404, "nix"),
        (lambda c: c.chat("echo", HELLO, format={"not": {}}), 400, "format"),
        (lambda c: c.chat("echo", HELLO, options={"mirostat": 1}), 400, "mirostat"),
        (lambda c: c.chat("echo", HELLO, options={"num_predict": 2**22}), 400, "num_predict"),
        (lambda c: c.chat("encoder", HELLO), 400, "encoder"),
        (lambda c: c.generate("nochat", "x", system="y"), 400, "system"),
        (lambda c: c.generate("echo", "x", suffix="y"), 400, "fill-in"),
        (lambda c: c.generate("short", "x" * 41), 400, "41"),
        (lambda c: list(c.generate("short", "x" * 41, stream=True)), 400, "40"),
        (lambda c: c.embed("echo", "x"), 400, "encoder"),
    ],
)
def test_errors_are_told(client, call, status, said):
    with pytest.raises(ollama.ResponseError, match=said) as caught:
        call(client)
    assert caught.value.status_code == status


def test_what_an_editor_sends(server):
    """Continue's autocomplete: raw, options that mean nothing here, keep_alive."""
    body = {
        "model": "fim",
        "prompt": "def f(",
        "suffix": "):",
        "raw": True,
        "keep_alive": 1800,
        "options": {"num_ctx": 8192, "num_thread": 4, "use_mmap": True, "num_predict": 64},
    }
    answer = server.post("/api/generate", body)
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert "".join(one["response"] for one in lines) == "def f(<FILL>):"
    assert answer.headers["x-bakeoff-ignored"] == "num_ctx, num_thread, use_mmap"
