"""Tokenizer routes, and tasks over HTTP."""

from __future__ import annotations

import pytest

CHAT = [{"role": "user", "content": "ab"}]


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ({"prompt": "ab"}, {"count": 2, "max_model_len": None, "tokens": [97, 98]}),
        ({"prompt": "ab", "add_special_tokens": False, "return_token_strs": True},
         {"count": 2, "max_model_len": None, "tokens": [97, 98], "token_strs": ["a", "b"]}),
        ({"messages": CHAT}, {"count": 2, "max_model_len": None, "tokens": [97, 98]}),
        ({"content": "ab"}, {"tokens": [97, 98]}),
        ({"content": "a", "with_pieces": True}, {"tokens": [{"id": 97, "piece": "a"}]}),
        ({"content": ""}, {"tokens": []}),
    ],
)  # fmt: skip
def test_texts_become_tokens_in_both_forms(server, body, reply):
    answer = server.post("/tokenize", body)
    assert (answer.status_code, answer.json()) == (200, reply)


def test_tokens_become_text(server):
    answer = server.post("/detokenize", {"tokens": list("naïve".encode())})
    assert answer.json() == {"prompt": "naïve", "content": "naïve"}
    info = server.http.get("/tokenizer_info", params={"model": "short"}).json()
    assert (info["eos_token"], info["vocab_size"], info["model_max_length"]) == ("<end>", 257, 40)
    assert server.post("/apply-template", {"messages": CHAT}).json() == {"prompt": "ab"}


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("/tokenize", {}, 400, "prompt"),
        ("/tokenize", {"prompt": "a", "content": "a"}, 400, "content"),
        ("/tokenize", {"content": "a", "parse_special": False}, 400, "parse_special"),
        ("/tokenize", {"prompt": "a", "model": "nix"}, 404, None),
        ("/detokenize", {"tokens": [999]}, 400, "tokens"),
        ("/detokenize", {"tokens": [-1]}, 400, "tokens.0"),
        ("/apply-template", {"messages": CHAT, "model": "nochat"}, 400, None),
        ("/v1/tasks/summarize", {"input": [], "model": "seq"}, 400, "input"),
        ("/v1/tasks/summarize", {"input": " ", "model": "seq"}, 400, "input"),
        ("/v1/tasks/summarize", {"input": "a", "model": "encoder"}, 400, "model"),
        ("/v1/tasks/summarize", {"input": "a", "stream": True, "model": "seq"}, 400, "stream"),
        ("/v1/tasks/translate", {"input": "a", "model": "echo"}, 400, "target_language"),
        ("/v1/tasks/translate",
         {"input": "a", "source_language": "en", "target_language": "xx"}, 400, "target_language"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(server, path, body, status, field):
    answer = server.post(path, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (status, field), error


def test_tasks_answer_texts_in_their_order(server):
    one = server.post("/v1/tasks/summarize", {"model": "seq", "input": "hello"}).json()
    assert [entry["text"] for entry in one["data"]] == ["HELLO"]
    body = {"model": "seq", "input": ["one", "two"], "max_tokens": 2}
    body |= {"source_language": "en", "target_language": "German"}
    many = server.post("/v1/tasks/translate", body).json()
    assert [(e["index"], e["text"], e["finish_reason"]) for e in many["data"]] == [
        (0, "ON", "length"),
        (1, "TW", "length"),
    ]
    assert many["usage"]["completion_tokens"] == 4


def test_an_encoder_decoder_model_chats_by_the_last_user_message(server):
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": "second"},
    ]
    made = server.post("/v1/chat/completions", {"model": "seq", "messages": messages}).json()
    assert made["choices"][0]["message"]["content"] == "SECOND"


@pytest.mark.parametrize("stream", [True, False])
def test_a_suffix_is_filled_in(server, stream):
    body = {"model": "fim", "prompt": "def f(", "suffix": "): pass", "max_tokens": 99}
    answer = server.post("/v1/completions", body | {"stream": stream})
    text = answer.text if stream else answer.json()["choices"][0]["text"]
    expected = "def f(<FILL>): pass"
    if stream:
        from tests.serving.serverthread import events

        text = "".join(one["choices"][0]["text"] for one in events(text))
    assert text == expected
