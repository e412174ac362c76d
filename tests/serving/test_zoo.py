"""Trained models behind the server say what they say in process."""

from __future__ import annotations

import asyncio

import openai
import pytest

from bakeoff.core.requests import GenerateRequest, GenerationParams, Message, Messages, Source, Text
from tests.serving.serverthread import Server, real
from tests.zoo import zoo_inputs, zoo_path

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def server():
    running = Server([real(str(zoo_path("llama")), "llama"), real(str(zoo_path("t5")), "t5")])
    yield running
    running.close()


@pytest.fixture(scope="module")
def client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as made:
        yield made


def _in_process(server, name, prompts, **params):
    """The texts of the same engine, asked without HTTP."""
    engine = server.desk.models.get(name).engine
    requests = [
        GenerateRequest(f"direct-{at}", prompt, GenerationParams(**params))
        for at, prompt in enumerate(prompts)
    ]
    made = asyncio.run_coroutine_threadsafe(engine.generate(requests), server._loop)
    return [one.text for one in made.result(60)]


def _chats(texts):
    return [[{"role": "user", "content": text}] for text in texts]


def test_chats_say_the_same_streamed_plain_and_in_process(server, client):
    texts = zoo_inputs("llama", 4)
    prompts = [Messages((Message("user", text),)) for text in texts]
    expected = _in_process(server, "llama", prompts, max_new_tokens=40, temperature=0.0)
    assert all(expected)
    for messages, text in zip(_chats(texts), expected, strict=True):
        ask = {"model": "llama", "messages": messages, "max_tokens": 40, "temperature": 0}
        made = client.chat.completions.create(**ask)
        assert made.choices[0].message.content == text
        assert made.usage.prompt_tokens == len(
            server.post("/tokenize", {"model": "llama", "messages": messages}).json()["tokens"]
        )
        with client.chat.completions.create(**ask, stream=True) as stream:
            assert "".join(c.choices[0].delta.content or "" for c in stream) == text


def test_completions_get_no_template_and_take_tokens(server, client):
    (text,) = zoo_inputs("llama", 1)
    (expected,) = _in_process(server, "llama", [Text(text)], max_new_tokens=12, temperature=0.0)
    ids = server.post("/tokenize", {"model": "llama", "prompt": text}).json()["tokens"]
    ask = {"model": "llama", "max_tokens": 12, "temperature": 0, "logprobs": 2}
    for prompt in (text, ids, [text], [ids]):
        made = client.completions.create(prompt=prompt, **ask)
        (choice,) = made.choices
        assert choice.text == expected
        assert made.usage.prompt_tokens == len(ids)
        assert "".join(choice.logprobs.tokens).startswith(expected)
        assert len(choice.logprobs.token_logprobs) == made.usage.completion_tokens
    shown = server.post("/apply-template", {"model": "llama", "messages": _chats([text])[0]})
    rendered = shown.json()["prompt"]
    assert text in rendered and rendered != text


def test_an_encoder_decoder_model_speaks_by_every_door(server, client):
    texts = zoo_inputs("t5", 3)
    expected = _in_process(server, "t5", [Source(text) for text in texts], num_beams=1)
    made = client.completions.create(model="t5", prompt=texts, extra_body={"num_beams": 1})
    assert [one.text for one in made.choices] == expected
    with client.chat.completions.create(
        model="t5", messages=_chats(texts)[0], stream=True, extra_body={"num_beams": 1}
    ) as stream:
        assert "".join(c.choices[0].delta.content or "" for c in stream) == expected[0]
    body = {"model": "t5", "input": texts, "num_beams": 1}
    data = server.post("/v1/tasks/summarize", body).json()["data"]
    assert len(data) == 3 and all(one["text"] for one in data)


def test_a_client_that_stops_reading_frees_the_model(server, client):
    ask = {"model": "llama", "max_tokens": 400, "temperature": 2.0, "min_tokens": 390}
    body = {"extra_body": {"min_tokens": ask.pop("min_tokens")}}
    with client.completions.create(prompt="one", stream=True, **ask, **body) as stream:
        next(iter(stream))
    done = client.completions.create(model="llama", prompt="two", max_tokens=1)
    assert done.usage.completion_tokens == 1


@pytest.mark.parametrize("messages", [_chats([""])[0], [{"role": "system", "content": "x"}]])
def test_odd_conversations_are_answered_or_refused_never_broken(server, messages):
    body = {"model": "llama", "messages": messages, "max_tokens": 3}
    assert server.post("/v1/chat/completions", body).status_code in (200, 400)


def test_a_prompt_that_is_too_long_names_both_numbers(server):
    body = {"model": "llama", "prompt": [[7] * 600], "max_tokens": 1, "stream": True}
    answer = server.post("/v1/completions", body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "context_length_exceeded")
    assert "600" in error["message"] and "511" in error["message"]
