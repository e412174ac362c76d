"""text-generation-inference's routes, as Continue's provider sends them."""

from __future__ import annotations

import json

import pytest

CONTINUE = {
    "inputs": "hello",
    "parameters": {
        "max_new_tokens": 1024,
        "best_of": 1,
        "temperature": 0.5,
        "top_k": 40,
        "top_p": 0.9,
        "presence_penalty": None,
        "frequency_penalty": None,
        "stop": ["lo", "x", "y", "z"],
    },
}


def test_what_an_editor_sends_is_streamed(server):
    answer = server.post("/generate_stream", CONTINUE)
    told = [json.loads(part.removeprefix("data:")) for part in answer.text.split("\n\n") if part]
    assert "".join(one["token"]["text"] for one in told) == "hel"
    assert [one["index"] for one in told] == list(range(1, len(told) + 1))
    assert [one["generated_text"] for one in told] == [None] * (len(told) - 1) + ["hel"]
    assert told[-1]["details"]["generated_tokens"] > 0
    assert server.http.get("/info").json()["model_id"] == "echo"


@pytest.mark.parametrize(
    ("parameters", "text", "reason"),
    [
        ({}, "hello", "eos_token"),
        ({"max_new_tokens": 2}, "he", "length"),
        ({"return_full_text": True}, "hellohello", "eos_token"),
        ({"do_sample": False, "temperature": 0.1}, "hello", "eos_token"),
    ],
)
def test_details_add_up(server, parameters, text, reason):
    asked = parameters | {"details": True, "decoder_input_details": True, "top_n_tokens": 2}
    made = server.post("/generate", {"inputs": "hello", "parameters": asked}).json()
    details = made["details"]
    assert (made["generated_text"], details["finish_reason"]) == (text, reason)
    assert details["generated_tokens"] == len(details["tokens"]) == len(details["top_tokens"])
    assert [one["text"] for one in details["prefill"]] == list("hello")
    assert [one["logprob"] is None for one in details["prefill"]] == [True] + [False] * 4


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"inputs": "x", "parameters": {"best_of": 2}}, "best_of"),
        ({"inputs": "x", "parameters": {"grammar": {"type": "json"}}}, "grammar"),
        ({"inputs": "x", "parameters": {"max_new_tokens": 2**22}}, "max_new_tokens"),
        ({"inputs": "x", "parameters": {"temperature": 0}}, "temperature"),
        ({"inputs": "x" * 50, "model": "short"}, "50"),
        ({}, "inputs"),
    ],
)
@pytest.mark.parametrize("path", ["/generate", "/generate_stream"])
def test_errors_are_told_in_its_own_form(server, path, body, said):
    answer = server.post(path, body)
    told = answer.json()
    assert (answer.status_code, told["error_type"]) == (422, "validation")
    assert said in told["error"]
