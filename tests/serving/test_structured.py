"""Answers of a stated form and calls of tools, asked for by the official `openai` client."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import jsonschema
import openai
import pytest
from pydantic import BaseModel

from tests.serving.serverthread import Server, fake, real
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
FAKES = {
    "echo": "fake://echo",
    "hermes": "fake://echo?tools=hermes",
    "llama3": "fake://echo?tools=llama3",
    "mistral": "fake://echo?tools=mistral",
    "odd": "fake://echo?tools=unknown",
    "seq": "fake://upper?kind=seq2seq",
}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
AS_PERSON = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}


def tool(name="weather", **parameters):
    return {"type": "function", "function": {"name": name, "parameters": parameters or PERSON}}


def asking(text="2 red, 3 blue", **more):
    said = {"model": "llama", "messages": [{"role": "user", "content": text}], "max_tokens": 250}
    return {**said, "temperature": 0.7, "seed": 5, **more}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    folder = real(str(zoo_path("llama")), "llama")
    running = Server([folder, *(fake(text, name) for name, text in FAKES.items())])
    yield running
    running.close()


@pytest.fixture(scope="module")
def client(server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as made:
        yield made


def whole(made):
    """The message of an answer that came to its end."""
    (choice,) = made.choices
    assert choice.finish_reason in ("stop", "tool_calls")
    return choice.message


def test_an_answer_follows_its_schema_plain_and_streamed(client):
    ask = asking(response_format=AS_PERSON)
    text = whole(client.chat.completions.create(**ask)).content
    jsonschema.validate(json.loads(text), PERSON)
    with client.chat.completions.create(**ask, stream=True) as stream:
        assert "".join(c.choices[0].delta.content or "" for c in stream) == text


def test_the_client_parses_an_answer_into_a_class(client):
    class Pair(BaseModel):
        left: bool
        right: int

    schema = asking(response_format=Pair)
    parsed = client.chat.completions.parse(**schema).choices[0].message.parsed
    assert isinstance(parsed, Pair)


@pytest.mark.parametrize(
    "format",
    [
        {"guided_regex": "(red|blue)[0-9]{2}"},
        {"structured_outputs": {"regex": "(red|blue)[0-9]{2}"}},
        {"guided_grammar": 'root ::= ("red" | "blue") [0-9] [0-9]'},
        {"guided_choice": ["red00", "blue99"]},
        {"grammar": 'root ::= ("red" | "blue") [0-9] [0-9]'},
    ],
    ids=lambda format: next(iter(format)),
)
def test_other_spellings_mean_the_same_on_both_routes(client, format):
    chat = client.chat.completions.create(**asking(extra_body=format))
    made = client.completions.create(
        model="llama", prompt="x", temperature=1, max_tokens=60, extra_body=format
    )
    for text in (whole(chat).content, made.choices[0].text):
        assert re.fullmatch("(red|blue)[0-9]{2}", text)


def test_an_answer_that_is_cut_says_so(client):
    made = client.chat.completions.create(**asking(response_format=AS_PERSON, max_tokens=3))
    assert made.choices[0].finish_reason == "length"


def test_beams_of_a_checkpoint_give_way_and_asked_ones_are_refused(client):
    ask = asking(response_format=AS_PERSON, temperature=0)
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**ask, extra_body={"num_beams": 2})
    assert caught.value.param == "num_beams"


DEEP = {"type": "array"}
for _ in range(70):
    DEEP = {"type": "array", "items": DEEP}


@pytest.mark.parametrize(
    ("body", "param", "said"),
    [
        ({"response_format": {"type": "xml"}}, "response_format", "xml"),
        ({"response_format": {}}, None, None),
        ({"response_format": {"json_schema": {}}}, "response_format", "no type"),
        ({"response_format": {"type": "json_schema"}}, "response_format", "no schema"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "x"}}}},
         "response_format", "Invalid type"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"not": {}}}}},
         "response_format", "not"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": [1]}}},
         "response_format", "no object"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": DEEP}}},
         "response_format", "deeper"),
        ({"guided_regex": "(?=a)b"}, "guided_regex", "look-around"),
        ({"guided_regex": "a" * 70000}, "guided_regex", "characters"),
        ({"guided_regex": 5}, "guided_regex", None),
        ({"guided_choice": []}, "guided_choice", "list of texts"),
        ({"guided_json": "{"}, "guided_json", "no JSON"),
        ({"structured_outputs": {"structural_tag": "x"}}, "structured_outputs", "structural_tag"),
        ({"structured_outputs": {"regex": "a", "json": {}}}, "structured_outputs", "one of"),
        ({"grammar": "root ::= foo"}, "grammar", "foo"),
        ({"guided_regex": "a", "response_format": {"type": "json_object"}}, "guided_regex", "both"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_honoured_is_a_400_that_names_it(server, body, param, said, stream):
    body = asking(**body, stream=stream, max_tokens=2)
    answer = server.post("/v1/chat/completions", body)
    if param is None:
        assert answer.status_code == 200
        return
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == param
    assert said is None or said in error["message"]


@pytest.mark.parametrize(
    ("path", "body", "read"),
    [
        ("/completion", {"prompt": "x", "n_predict": 100, "json_schema": PERSON},
         lambda said: said["content"]),
        ("/completion", {"prompt": "x", "n_predict": 100, "grammar": 'root ::= "{" "}"'},
         lambda said: said["content"]),
        ("/generate", {"inputs": "x", "parameters": {
            "max_new_tokens": 100, "grammar": {"type": "json", "value": PERSON}}},
         lambda said: said["generated_text"]),
        ("/generate", {"inputs": "x", "parameters": {
            "max_new_tokens": 100, "grammar": {"type": "regex", "value": "\\{\\}"}}},
         lambda said: said["generated_text"]),
        ("/api/generate", {"model": "llama", "prompt": "x", "stream": False, "format": PERSON},
         lambda said: said["response"]),
        ("/api/chat", {"model": "llama", "messages": [{"role": "user", "content": "x"}],
                       "stream": False, "format": PERSON},
         lambda said: said["message"]["content"]),
    ],
)  # fmt: skip
def test_every_wire_format_has_its_own_spelling(server, path, body, read):
    answer = server.post(path, body)
    assert answer.status_code == 200, answer.text
    assert isinstance(json.loads(read(answer.json())), dict)


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/completion", {"prompt": "x", "grammar": "root ::= foo"}, "grammar"),
        ("/completion", {"prompt": "x", "json_schema": {"not": {}}}, "json_schema"),
        ("/generate", {"inputs": "x", "parameters": {"grammar": {"type": "regex", "value": 1}}},
         "parameters.grammar"),
        ("/generate_stream",
         {"inputs": "x", "parameters": {"grammar": {"type": "json", "value": {"not": {}}}}},
         "parameters.grammar"),
        ("/api/generate", {"model": "llama", "prompt": "x", "format": {"not": {}}}, "format"),
        ("/api/chat", {"model": "llama", "messages": [{"role": "user", "content": "x"}],
                       "format": "xml"}, "format"),
    ],
)  # fmt: skip
def test_every_wire_format_refuses_under_its_own_name(server, path, body, named):
    answer = server.post(path, body)
    assert answer.status_code in (400, 422), answer.text
    assert named in answer.text


def test_any_object_in_json(server):
    body = {"model": "echo", "messages": [{"role": "user", "content": '{"a": [1, "ü"]}'}]}
    said = {"response_format": {"type": "json_object"}}
    made = server.post("/v1/chat/completions", {**body, **said}).json()
    assert json.loads(made["choices"][0]["message"]["content"]) == {"a": [1, "ü"]}
    body["messages"][0]["content"] = "no JSON"
    assert server.post("/v1/chat/completions", {**body, **said}).status_code == 400
