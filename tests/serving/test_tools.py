"""Calls of tools, asked for by the official `openai` client and by Ollama's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import jsonschema
import ollama
import openai
import pytest

from tests.serving.serverthread import Server, fake, real
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch
FAKES = {
    "hermes": "fake://echo?tools=hermes",
    "llama3": "fake://echo?tools=llama3",
    "mistral": "fake://echo?tools=mistral",
    "odd": "fake://echo?tools=unknown",
    "plain": "fake://echo",
    "seq": "fake://upper?kind=seq2seq",
}
WRITTEN = {
    "hermes": 'Well: <tool_call>\n{"name": "f", "arguments": {"a": "ü}"}}\n</tool_call>',
    "llama3": '{"name": "f", "parameters": {"a": "ü}"}}',
    "mistral": '[TOOL_CALLS] [{"name": "f", "arguments": {"a": "ü}"}}]',
}
TEMPLATES = {
    "hermes": """\
{%- if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>
call as <tool_call>{"name": .., "arguments": ..}</tool_call>
{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}
{%- for call in m.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}""",
    "llama3": """\
{%- if tools %}{{ tools | tojson }} answer as {"name": .., "parameters": ..}{% endif %}
{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}""",
    "mistral": """\
{%- if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{%- for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>
{%- if m.tool_calls %}[TOOL_CALLS]{{ m.tool_calls | tojson }}{% endif %}
{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}""",
}
NUMBERS = {
    "type": "object",
    "$defs": {"small": {"type": "integer", "minimum": 0, "maximum": 9}},
    "properties": {"left": {"$ref": "#/$defs/small"}, "note": {"enum": ["a", "b\nc"]}},
    "required": ["left", "note"],
}


def tool(name="f", parameters=None):
    return {"type": "function", "function": {"name": name, "parameters": parameters or NUMBERS}}


def asking(model, text="2 red, 3 blue", **more):
    messages = [{"role": "user", "content": text}]
    return {"model": model, "messages": messages, "max_tokens": 400, "tools": [tool()], **more}


def with_template(folder, form):
    """A copy of a trained model that has a place for tools in its chat template."""
    shutil.copytree(zoo_path("llama"), folder)
    (folder / "chat_template.jinja").write_text(TEMPLATES[form])
    return str(folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    base = tmp_path_factory.mktemp("models")
    folders = [real(with_template(base / form, form), f"real-{form}") for form in TEMPLATES]
    running = Server([*folders, *(fake(text, name) for name, text in FAKES.items())])
    yield running
    running.close()


@pytest.fixture(scope="module")
def client(server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as made:
        yield made


def gathered(stream):
    """A streamed message put together as clients do it: words, calls and the reason."""
    words, calls, reason = "", {}, None
    for chunk in stream:
        (choice,) = chunk.choices
        words += choice.delta.content or ""
        reason = choice.finish_reason or reason
        for piece in choice.delta.tool_calls or ():
            if piece.id is not None:
                assert piece.index not in calls and piece.type == "function"
                calls[piece.index] = [piece.id, piece.function.name, ""]
            calls[piece.index][2] += piece.function.arguments or ""
    assert list(calls) == list(range(len(calls)))
    return words, list(calls.values()), reason


@pytest.mark.parametrize("form", WRITTEN)
def test_calls_in_every_form_are_read_plain_and_streamed(client, form):
    ask = asking(form, WRITTEN[form])
    (choice,) = client.chat.completions.create(**ask).choices
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("f", {"a": "ü}"})
    assert choice.message.content == ("Well: " if form == "hermes" else None)
    with client.chat.completions.create(**ask, stream=True) as stream:
        words, ((name_id, name, arguments),), reason = gathered(stream)
    assert words == (choice.message.content or "")
    assert (name, arguments, reason) == ("f", call.function.arguments, "tool_calls")
    assert name_id and name_id != call.id
    if form == "mistral":
        assert len(name_id) == 9 and name_id.isalnum()


def test_words_without_calls_are_an_ordinary_answer(client):
    (choice,) = client.chat.completions.create(**asking("hermes", " <tool_call> no")).choices
    assert (choice.message.content, choice.finish_reason) == (" <tool_call> no", "stop")
    assert choice.message.tool_calls is None


def test_without_tools_and_with_none_nothing_is_read_as_a_call(client):
    for more in ({"tools": []}, {"tool_choice": "none"}):
        (choice,) = client.chat.completions.create(
            **asking("hermes", WRITTEN["hermes"], **more)
        ).choices
        assert choice.message.content == WRITTEN["hermes"]


def test_one_call_at_a_time_is_one_call(client):
    text = WRITTEN["hermes"] + "\n" + WRITTEN["hermes"].removeprefix("Well: ")
    for several, count in ((True, 2), (False, 1)):
        (choice,) = client.chat.completions.create(
            **asking("hermes", text, parallel_tool_calls=several)
        ).choices
        assert len(choice.message.tool_calls) == count


@pytest.mark.parametrize("form", TEMPLATES)
@pytest.mark.parametrize("choice", ["required", "named"])
def test_a_trained_model_is_made_to_call(client, form, choice):
    other = tool("g", {"type": "object", "properties": {"flag": {"type": "boolean"}}})
    named = {"type": "function", "function": {"name": "g"}}
    ask = asking(
        f"real-{form}",
        tools=[tool(), other],
        tool_choice=named if choice == "named" else "required",
        temperature=1.0,
        seed=11,
        parallel_tool_calls=form != "mistral",
    )
    (made,) = client.chat.completions.create(**ask).choices
    assert made.finish_reason in ("tool_calls", "length")
    with client.chat.completions.create(**ask, stream=True) as stream:
        words, calls, reason = gathered(stream)
    assert (words, reason) == (made.message.content or "", made.finish_reason)
    plain = [(one.function.name, one.function.arguments) for one in made.message.tool_calls]
    whole = plain if made.finish_reason == "tool_calls" else plain[:-1]
    assert [(name, text) for _, name, text in calls][: len(whole)] == whole
    schemas = {"f": NUMBERS, "g": other["function"]["parameters"]}
    for name, arguments in whole:
        assert choice == "required" or name == "g"
        jsonschema.validate(json.loads(arguments), schemas[name])
    if choice == "named":
        assert len(whole) == 1


def test_tools_and_turns_that_call_go_through_the_template(server):
    body = asking("real-hermes", tool_choice="auto", max_tokens=1)
    body["messages"] += [
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "c1", "type": "function",
                         "function": {"name": "f", "arguments": '{"left": 1}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "seven"},
    ]  # fmt: skip
    tokens = server.post("/v1/chat/completions", body).json()["usage"]["prompt_tokens"]
    shown = server.post(
        "/apply-template", {"model": "real-hermes", "messages": body["messages"]}
    ).json()["prompt"]
    assert '"arguments": {"left": 1}' in shown and "<|tool|>seven" in shown
    assert tokens > len(shown) / 8


def test_an_answer_in_JSON_beside_tools_is_one_or_the_other(client):
    format = {
        "type": "json_schema",
        "json_schema": {"name": "n", "schema": {"type": "object", "properties": {
            "ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}},
    }  # fmt: skip
    ask = asking("real-hermes", response_format=format, temperature=1.0, seed=2)
    (choice,) = client.chat.completions.create(**ask).choices
    if choice.message.tool_calls:
        jsonschema.validate(json.loads(choice.message.tool_calls[0].function.arguments), NUMBERS)
    else:
        assert list(json.loads(choice.message.content)) == ["ok"]


@pytest.mark.parametrize(
    ("model", "more", "param", "said"),
    [
        ("plain", {}, "tools", "no place"),
        ("odd", {}, "tools", "form"),
        ("seq", {}, "tools", "no place"),
        ("hermes", {"tools": [tool(), tool()]}, "tools", "same name"),
        ("hermes", {"tools": [tool("a b")]}, None, "name"),
        ("hermes", {"tools": [tool()] * 200}, "tools", "at most"),
        ("hermes", {"tools": [tool(parameters={"type": "array"})]}, None, "object"),
        ("hermes", {"tool_choice": "sometimes"}, None, "tool_choice"),
        ("hermes", {"tool_choice": {"type": "function", "function": {"name": "zz"}}},
         "tool_choice", "zz"),
        ("hermes", {"tools": [], "tool_choice": "required"}, "tool_choice", "needs tools"),
        ("hermes", {"tool_choice": "required", "tools": [tool(parameters={"not": {}})]},
         "tools", "not"),
        ("hermes", {"tool_choice": "required", "response_format": {"type": "json_object"}},
         "response_format", "leave one out"),
        ("hermes", {"guided_regex": "a"}, "guided_regex", "JSON"),
        ("plain", {"tools": [], "messages": [{"role": "tool", "content": "x"}]},
         "messages", "no place"),
        ("hermes", {"messages": [{"role": "function", "content": "x"}]},
         "messages.0.role", "function"),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_a_400_that_names_it(server, model, more, param, said):
    answer = server.post("/v1/chat/completions", {**asking(model), **more})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert said in error["message"]
    assert param is None or error["param"] == param


@pytest.fixture
def native(server):
    made = ollama.Client(host=server.url)
    yield made
    made._client.close()


@pytest.mark.parametrize("stream", [False, True])
def test_the_ollama_client_gets_objects(native, stream):
    turn = {"role": "tool", "tool_name": "f", "content": "7"}
    ask = {"model": "hermes", "tools": [tool()], "stream": stream}
    said = [turn, {"role": "user", "content": WRITTEN["hermes"]}]
    made = native.chat(messages=said, **ask)
    parts = list(made) if stream else [made]
    calls = [call for part in parts for call in part.message.tool_calls or ()]
    assert [(one.function.name, one.function.arguments) for one in calls] == [("f", {"a": "ü}"})]
    assert "".join(part.message.content or "" for part in parts) == "Well: "
    with pytest.raises(ollama.ResponseError) as caught:
        list(native.chat(messages=said, **{**ask, "model": "plain", "stream": True}))
    assert caught.value.status_code == 400
