"""Continue sends: chat, edit and autocomplete, with a connection closed at each keystroke."""

from __future__ import annotations

import json
import socket

import pytest

from tests.serving.serverthread import WITHIN, Watched, fake, watched

CHAT = {
    "model": "local-chat",
    "max_tokens": 4096,
    "temperature": 0.5,
    "stream": True,
    "stream_options": {"include_usage": True},
}
COMPLETE = {
    "model": "qwen-coder-local",
    "stream": True,
    "n_predict": 4096,
    "frequency_penalty": None,
    "presence_penalty": None,
    "min_p": None,
    "mirostat": None,
    "top_k": None,
    "top_p": None,
    "temperature": 0.01,
    "stop": ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
             "<|repo_name|>", "<|file_sep|>", "<|im_start|>", "<|im_end|>", "/src/",
             "#- coding: utf-8", "```"],
}  # fmt: skip
HEADERS = {"authorization": "Bearer undefined", "api-key": "none", "x-api-key": "none"}


def read_as_continue(text):
    """Its reader: lines that begin `data:`; `[DONE]` ends; others are passed over."""
    for line in text.split("\n"):
        if not line.startswith("data:"):
            continue
        data = line.removeprefix("data:").removeprefix(" ")
        if data == "[DONE]":
            return
        yield json.loads(data)


def said(answer):
    """The text, as its openai adapter puts it together: a chunk with usage is kept to the end."""
    assert answer.status_code == 200
    chunks = list(read_as_continue(answer.text))
    shown = [one for one in chunks if one.get("usage") is None]
    assert len(shown) == len(chunks) - 1, "usage stands on the last chunk alone"
    return "".join(c["delta"].get("content") or "" for one in shown for c in one["choices"])


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "naïve 🎁"}],
        [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "x"}],
        [
            {"role": "user", "content": [{"type": "text", "text": "one"}]},
            {"role": "assistant", "content": " "},
            {"role": "user", "content": [{"type": "text", "text": "two"}]},
        ],
    ],
)
def test_chat(opened, messages):
    server = opened(fake("fake://echo", "local-chat"))
    body = CHAT | {"messages": messages}
    answer = server.post("/v1/chat/completions", body, headers=HEADERS)
    last = messages[-1]["content"]
    assert said(answer) == (last if isinstance(last, str) else last[0]["text"])


def test_edit(opened):
    """The code, its surroundings and the wish in one turn; the prediction is not known here."""
    server = opened(fake("fake://echo", "local-chat"))
    wish = "```python\ndef f():\n    pass\n```\nRewrite it: return 1"
    body = CHAT | {
        "messages": [{"role": "user", "content": wish}],
        "prediction": {"type": "content", "content": "def f():\n    pass\n"},
    }
    answer = server.post("/v1/chat/completions", body, headers=HEADERS)
    assert said(answer) == wish
    assert answer.headers["x-bakeoff-ignored"] == "prediction"


def test_autocomplete(opened):
    server = opened(fake("fake://upper", "qwen-coder-local"))
    prompt = "def f():\n    return x\n"
    answer = server.post("/completion", COMPLETE | {"prompt": prompt}, headers=HEADERS)
    assert answer.status_code == 200
    told = list(read_as_continue(answer.text))
    assert "".join(one["content"] for one in told) == prompt.upper()
    assert told[-1]["stop"] is True
    cut = server.post("/completion", COMPLETE | {"prompt": "a ``` b"}, headers=HEADERS)
    assert "".join(one["content"] for one in read_as_continue(cut.text)) == "A "


def test_each_keystroke_ends_the_request_before(opened):
    text = "fake://words?delay=60"
    engine = Watched(text, "qwen-coder-local")
    server = opened(watched(engine, text), running=1)
    host, port = server.url.removeprefix("http://").split(":")
    for typed in range(1, 21):
        data = json.dumps(COMPLETE | {"prompt": "x" * typed}).encode()
        head = f"POST /completion HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(data)}\r\n"
        with socket.create_connection((host, int(port)), timeout=WITHIN) as connection:
            connection.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + data)
            assert engine.entered.acquire(timeout=WITHIN), "the one before still has the place"
    assert engine.left.wait(WITHIN)
    assert [one.prompt.text for one in engine.asked] == ["x" * typed for typed in range(1, 21)]


@pytest.mark.parametrize("name", ["gpt-x", "olmo"])
def test_names_that_continue_misreads_have_another(opened, name):
    from dataclasses import replace

    server = opened(replace(fake("fake://echo", name), aliases=("local-chat",)))
    for asked in (name, "local-chat"):
        body = CHAT | {"model": asked, "messages": [{"role": "user", "content": "x"}]}
        assert said(server.post("/v1/chat/completions", body)) == "x"


def test_its_ollama_provider_finds_what_it_asks_for(server):
    shown = server.post("/api/show", {"name": "fim"}).json()
    assert ".Suffix" in shown["template"]
    options = {"num_predict": 99, "num_ctx": 8192, "stop": ["\n"], "num_gpu": None}
    body = {"model": "fim", "prompt": "a", "suffix": "b", "raw": True, "keep_alive": 1800}
    body["options"] = options
    lines = server.post("/api/generate", body).text.splitlines()
    assert "".join(json.loads(line)["response"] for line in lines) == "a<FILL>b"
