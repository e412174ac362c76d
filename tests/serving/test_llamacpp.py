"""llama.cpp's routes, as its editor plug-ins and Continue's provider send them."""

from __future__ import annotations

import base64
import json
import struct

import openai
import pytest

CONTINUE = {
    "model": "a name of its own",
    "prompt": "[INST] hello [/INST]",
    "stream": True,
    "n_predict": 100,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "min_p": 0.05,
    "mirostat": 0,
    "stop": ["[/", ""],
    "top_k": 40,
    "top_p": 0.95,
    "temperature": 0.2,
}


def _data(text):
    return [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n") if line]


def test_the_first_set_up_of_the_editor_works_unchanged(server):
    answer = server.post("/completion", CONTINUE, headers={"authorization": "Bearer undefined"})
    told = _data(answer.text)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "".join(one["content"] for one in told) == "[INST] hello "
    assert [one["stop"] for one in told] == [False] * (len(told) - 1) + [True]
    assert (told[-1]["stop_type"], told[-1]["stopping_word"]) == ("word", "[/")


@pytest.mark.parametrize(
    ("more", "content", "stop_type"),
    [
        ({"prompt": "hello"}, "hello", "eos"),
        ({"prompt": "hello", "n_predict": 2}, "he", "limit"),
        ({"prompt": "hello", "n_predict": -1, "stop": ["l"]}, "he", "word"),
        ({"prompt": list(b"hello")}, "hello", "eos"),
        ({"prompt": [104, "ell", 111]}, "hello", "eos"),
        ({"prompt": "hello", "logit_bias": [[5, False], [6, 2]], "cache_prompt": True}, "hello",
         "eos"),
    ],
)  # fmt: skip
def test_prompts_of_every_form(server, more, content, stop_type):
    made = server.post("/completion", more | {"return_tokens": True}).json()
    assert (made["content"], made["stop_type"]) == (content, stop_type)
    assert bytes(made["tokens"][: len(content)]).decode() == content
    assert made["tokens_evaluated"] == 5
    streamed = _data(server.post("/completion", more | {"stream": True}).text)
    assert "".join(one["content"] for one in streamed) == content
    assert streamed[-1]["stop_type"] == stop_type


def test_several_prompts_are_answered_in_a_list(server):
    made = server.post("/completion", {"prompt": ["ab", "cd"]}).json()
    assert [(one["index"], one["content"]) for one in made] == [(0, "ab"), (1, "cd")]
    nested = server.post("/completion", {"prompt": ["ab", [99, "d"]]}).json()
    assert [one["content"] for one in nested] == ["ab", "cd"]


def test_probabilities_are_told(server):
    made = server.post("/completion", {"prompt": "ab", "n_probs": 3, "n_predict": 2}).json()
    told = made["completion_probabilities"]
    assert [one["token"] for one in told] == ["a", "b"]
    assert all(len(one["top_logprobs"]) == 3 and one["id"] for one in told)


@pytest.mark.parametrize("more", [{"n_predict": 2}, {}, {"stop": ["é!"]}])
def test_a_stream_tells_the_same_probabilities(server, more):
    body = {"prompt": "café! 🎁", "n_probs": 3, **more}
    told = server.post("/completion", body).json()["completion_probabilities"]
    events = _data(server.post("/completion", body | {"stream": True}).text)
    assert [p for one in events for p in one.get("completion_probabilities", [])] == told
    for one in events[:-1]:
        assert [p["id"] for p in one["completion_probabilities"]] == list(one["content"].encode())


@pytest.mark.parametrize("stream", [True, False])
def test_infill_uses_the_models_own_tokens(server, stream):
    body = {
        "model": "fim",
        "input_prefix": "def f(",
        "input_suffix": "):",
        "input_extra": [{"filename": "a.py", "text": "x = 1"}],
        "prompt": "se",
        "n_predict": 200,
        "t_max_predict_ms": 500,
        "stream": stream,
    }
    answer = server.post("/infill", body)
    made = _data(answer.text) if stream else [answer.json()]
    text = "".join(one["content"] for one in made)
    assert text == "--- a.py ---\nx = 1\ndef f(<FILL>):se"


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/completion", {"prompt": "x", "grammar": "root ::= 'a'"}, "grammar"),
        ("/completion", {"prompt": "x", "json_schema": {"not": {}}}, "json_schema"),
        ("/completion", {"prompt": "x", "mirostat": 2}, "mirostat"),
        ("/completion", {"prompt": "x", "n_probs": 99}, "n_probs"),
        ("/completion", {"prompt": "x", "n_predict": 2**22}, "n_predict"),
        ("/completion", {"prompt": "x" * 50, "model": "short"}, "50"),
        ("/infill", {"input_prefix": "x"}, "fill-in-the-middle"),
        ("/embedding", {"content": "x"}, "encoder"),
    ],
)
def test_what_cannot_be_honoured_is_named(server, path, body, named):
    answer = server.post(path, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, 400)
    assert named in error["message"]


def test_the_server_describes_itself(server):
    props = server.http.get("/props", params={"model": "short"}).json()
    assert props["default_generation_settings"]["n_ctx"] == 40
    slots = server.http.get("/slots").json()
    assert len(slots) == props["total_slots"]
    assert not any(one["is_processing"] for one in slots)


def test_vectors_are_the_same_in_every_form(server):
    told = server.post("/embedding", {"model": "encoder", "content": ["a", "b"]}).json()
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client:
        made = client.embeddings.create(model="encoder", input=["a", "b"])
        plain = client.embeddings.create(model="encoder", input="a", encoding_format="float")
    assert plain.data[0].embedding == told[0]["embedding"][0]
    for one, same in zip(made.data, told, strict=True):
        assert one.embedding == pytest.approx(same["embedding"][0], abs=1e-6)
    raw = server.post(
        "/v1/embeddings", {"model": "encoder", "input": "a", "encoding_format": "base64"}
    ).json()["data"][0]["embedding"]
    values = struct.unpack("<8f", base64.b64decode(raw))
    assert list(values) == pytest.approx(plain.data[0].embedding, abs=1e-6)
