"""What cannot be honoured is refused by the name of its field; what means nothing is named."""

from __future__ import annotations

import pytest

CHAT = {"model": "echo", "messages": [{"role": "user", "content": "hello"}]}
TEXT = {"model": "echo", "prompt": "hello"}


def _message(**more):
    return {"messages": [{"role": "user", "content": "x"} | more]}


@pytest.mark.parametrize(
    ("base", "more", "field"),
    [
        (TEXT, {"best_of": 2}, "best_of"),
        (TEXT, {"n": 0}, "n"),
        (TEXT, {"n": 17}, "n"),
        (TEXT, {"max_tokens": -1}, "max_tokens"),
        (TEXT, {"max_tokens": 2**21}, "max_tokens"),
        (TEXT, {"max_tokens": 2**18, "n": 16}, "max_tokens"),
        (TEXT, {"logprobs": 21}, "logprobs"),
        (TEXT, {"logprobs": -1}, "logprobs"),
        (TEXT, {"stop": [""]}, "stop"),
        (TEXT, {"stop": ["x"] * 65}, "stop"),
        (TEXT, {"stop": "x" * 1001}, "stop"),
        (TEXT, {"stop": [1]}, "stop"),
        (TEXT, {"logit_bias": {"x": 1}}, "logit_bias.x"),
        (TEXT, {"logit_bias": {"999": 1}}, "logit_bias"),
        (TEXT, {"logit_bias": {"9": 101}}, "logit_bias.9"),
        (TEXT, {"logit_bias": {str(at): 1 for at in range(1025)}}, "logit_bias"),
        (TEXT, {"temperature": -1}, "temperature"),
        (TEXT, {"top_p": 1.5}, "top_p"),
        (TEXT, {"frequency_penalty": 3}, "frequency_penalty"),
        (TEXT, {"repetition_penalty": 0}, "repetition_penalty"),
        (TEXT, {"prompt": None}, "prompt"),
        (TEXT, {"prompt": []}, "prompt"),
        (TEXT, {"prompt": [[]]}, "prompt"),
        (TEXT, {"prompt": [True]}, "prompt"),
        (TEXT, {"prompt": [1, "a"]}, "prompt"),
        (TEXT, {"prompt": [[1], "a"]}, "prompt"),
        (TEXT, {"prompt": ["x"] * 257}, "prompt"),
        (TEXT, {"prompt": {"text": "x"}}, "prompt"),
        (TEXT, {"echo": True, "logprobs": 1, "model": "seq"}, "echo"),
        (TEXT, {"suffix": "x"}, "suffix"),
        (TEXT, {"prompt": ["a", "b"], "suffix": "x", "model": "fim"}, "suffix"),
        (TEXT, {"add_special_tokens": False}, "add_special_tokens"),
        (TEXT, {"ignore_eos": True}, "ignore_eos"),
        (TEXT, {"guided_regex": "a*"}, "guided_regex"),
        (CHAT, {"messages": []}, "messages"),
        (CHAT, {"messages": "hello"}, "messages"),
        (CHAT, {"max_tokens": 0}, "max_tokens"),
        (CHAT, {"max_completion_tokens": 0}, "max_completion_tokens"),
        (CHAT, {"top_logprobs": 2}, "top_logprobs"),
        (CHAT, {"top_logprobs": 21, "logprobs": True}, "top_logprobs"),
        (CHAT, {"response_format": {"type": "json_object"}}, "response_format"),
        (CHAT, {"tools": [{"type": "function"}]}, "tools.0.function"),
        (CHAT, {"tool_choice": "required"}, "tool_choice"),
        (CHAT, {"modalities": ["audio"]}, "modalities"),
        (CHAT, {"continue_final_message": True}, "continue_final_message"),
        (CHAT, {"echo": True}, "echo"),
        (CHAT, _message(role="tool", tool_call_id=None), "messages"),
        (CHAT, _message(role="nobody"), "messages.0.role"),
        (CHAT, _message(content=None), "messages.0.content"),
        (CHAT, _message(content=[{"type": "image_url", "image_url": {}}]), "messages.0.content"),
        (
            CHAT,
            _message(tool_calls=[{"function": {"arguments": "{"}}]),
            "messages.0.tool_calls.0.function.name",
        ),
        (CHAT, {"model": "seq", "messages": [{"role": "system", "content": "x"}]}, "messages"),
        (CHAT, {"model": "encoder"}, "model"),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_it_is_refused_by_name(server, base, more, field, stream):
    path = "/v1/completions" if base is TEXT else "/v1/chat/completions"
    answer = server.post(path, base | more | {"stream": stream})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, field), error
    assert error["type"] == "invalid_request_error"
    assert error["message"]


@pytest.mark.parametrize(
    ("base", "more", "ignored"),
    [
        (CHAT, {"user": "me", "store": True}, "user, store"),
        (CHAT, {"zq": 1, "z\r\nq: ü": 2, "none": None}, "zq, z??q: \\xfc"),
        (CHAT, {"parallel_tool_calls": False}, None),
        (CHAT, {"response_format": {"type": "text"}, "tools": [], "tool_choice": "none"}, None),
        (CHAT, {"top_k": -1, "n": 1, "stop": None, "max_tokens": None, "logit_bias": None}, None),
        (CHAT, _message(role="developer", content=[{"type": "text", "text": "x"}]), None),
        (CHAT, {"logit_bias": {"9": -100}, "stop_token_ids": [4], "min_p": 0.1}, None),
        (TEXT, {"best_of": 1, "suffix": None, "seed": -5}, None),
        (TEXT, {"stream_options": {"include_usage": True}}, None),
    ],
)
def test_what_means_nothing_is_ignored_and_named(server, base, more, ignored):
    path = "/v1/completions" if base is TEXT else "/v1/chat/completions"
    answer = server.post(path, base | more)
    assert answer.status_code == 200, answer.text
    assert answer.headers.get("x-bakeoff-ignored") == ignored


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b"null", b"\xff", b"1", b'{"a": NaN}', b"[" * 9999]
)
@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_what_is_no_object_is_refused(server, path, body):
    headers = {"content-type": "application/json"}
    answer = server.http.post(path, content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize(("path", "method"), [("/v1/nowhere", "GET"), ("/v1/completions", "GET")])
def test_a_wrong_path_is_told_in_json(server, path, method):
    answer = server.http.request(method, path)
    assert answer.status_code in (404, 405)
    assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("tokens", [37, 38, 40, 10**9])
def test_more_tokens_than_there_is_room_for_are_clipped(server, tokens):
    body = {"model": "short", "prompt": "abc", "max_tokens": tokens}
    answer = server.post("/v1/completions", body)
    assert (answer.status_code, answer.json()["choices"][0]["text"]) == (200, "abc")
