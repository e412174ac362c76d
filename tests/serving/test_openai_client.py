"""The official `openai` client against the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import openai
import pytest

from tests.serving.serverthread import Server

HELLO = [{"role": "user", "content": "naïve café 🎁"}]


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as made:
        yield made


def test_a_chat_is_answered(client):
    made = client.chat.completions.create(model="echo", messages=HELLO, max_tokens=500)
    (choice,) = made.choices
    assert (choice.message.role, choice.message.content) == ("assistant", "naïve café 🎁")
    assert choice.finish_reason == "stop"
    assert made.usage.prompt_tokens == len("naïve café 🎁".encode())
    assert made.usage.total_tokens == made.usage.prompt_tokens + made.usage.completion_tokens
    assert (made.object, made.model) == ("chat.completion", "echo")


@pytest.mark.parametrize("usage", [True, False])
def test_a_streamed_chat_says_the_same(client, usage):
    options = {"stream_options": {"include_usage": True}} if usage else {}
    with client.chat.completions.create(
        model="echo", messages=HELLO, stream=True, **options
    ) as stream:
        chunks = list(stream)
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    texts = [chunk for chunk in chunks if chunk.choices]
    assert texts[0].choices[0].delta.role == "assistant"
    assert texts[0].choices[0].delta.content == ""
    assert "".join(c.choices[0].delta.content or "" for c in texts) == "naïve café 🎁"
    finishes = [c.choices[0].finish_reason for c in texts]
    assert finishes == [None] * (len(texts) - 1) + ["stop"]
    assert [c.usage for c in texts] == [None] * len(texts)
    assert len(chunks) - len(texts) == int(usage)
    if usage:
        assert chunks[-1].usage.prompt_tokens == len("naïve café 🎁".encode())


def test_several_choices_have_their_own_index(client):
    ask = {"model": "words", "messages": HELLO, "n": 3, "temperature": 1.0, "seed": 7}
    made = client.chat.completions.create(**ask)
    assert [one.index for one in made.choices] == [0, 1, 2]
    assert len({one.message.content for one in made.choices}) == 3
    again = client.chat.completions.create(**ask)
    assert [o.message.content for o in again.choices] == [o.message.content for o in made.choices]
    texts, finishes = ["", "", ""], [None, None, None]
    with client.chat.completions.create(**ask, stream=True) as stream:
        for chunk in stream:
            (choice,) = chunk.choices
            texts[choice.index] += choice.delta.content or ""
            finishes[choice.index] = choice.finish_reason or finishes[choice.index]
    assert texts == [one.message.content for one in made.choices]
    assert finishes == ["stop"] * 3


def test_without_a_seed_sampled_texts_differ(client):
    ask = {"model": "words", "messages": HELLO, "temperature": 1.0}
    texts = {client.chat.completions.create(**ask).choices[0].message.content for _ in range(4)}
    assert len(texts) > 1


@pytest.mark.parametrize(
    ("prompt", "texts"),
    [
        ("ab", ["AB"]),
        (["ab", "cd"], ["AB", "CD"]),
        (list(b"ab"), ["AB"]),
        ([list(b"ab"), list(b"cde")], ["AB", "CDE"]),
    ],
)
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("stream", [True, False])
def test_prompts_of_every_form_keep_their_order(client, prompt, texts, n, stream):
    made = client.completions.create(model="seq", prompt=prompt, n=n, stream=stream)
    found = [""] * (len(texts) * n)
    for part in made if stream else [made]:
        for choice in part.choices:
            found[choice.index] += choice.text
    assert found == [text for text in texts for _ in range(n)]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("tokens", [0, 1])
def test_echo_and_logprobs_cover_the_prompt_and_what_is_new(client, tokens, stream):
    made = client.completions.create(
        model="echo", prompt=[list(b"abc")], echo=True, logprobs=2, max_tokens=tokens, stream=stream
    )
    (choice,) = (next(iter(made)) if stream else made).choices
    told = choice.logprobs
    assert choice.text == "abc" + "a" * tokens
    assert told.tokens == ["a", "b", "c", "a"][: 3 + tokens]
    assert told.text_offset == [0, 1, 2, 3][: 3 + tokens]
    assert told.token_logprobs[0] is None and told.top_logprobs[0] is None
    for token, value, top in list(
        zip(told.tokens, told.token_logprobs, told.top_logprobs, strict=True)
    )[1:]:
        assert top[token] == value
        assert max(top.values()) >= value


def test_a_chat_gives_log_probabilities(client):
    ask = {"model": "echo", "messages": HELLO, "logprobs": True, "top_logprobs": 3}
    plain = client.chat.completions.create(**ask).choices[0]
    assert len(plain.logprobs.content) == len("naïve café 🎁".encode()) + 1
    assert {len(one.top_logprobs) for one in plain.logprobs.content} == {3}
    with client.chat.completions.create(**ask, stream=True) as stream:
        chunks = [chunk.choices[0] for chunk in stream]
    told = [one for c in chunks if c.logprobs for one in c.logprobs.content]
    assert told == plain.logprobs.content
    assert sum(bool(c.logprobs) for c in chunks) > 10, "they come with the text"


@pytest.mark.parametrize("more", [{}, {"echo": True}, {"n": 2}, {"stop": "fé"}, {"max_tokens": 0}])
def test_pieces_of_a_completion_tell_what_the_whole_tells(client, more):
    prompt = ["naïve café 🎁", "abc"]
    ask = {"model": "echo", "prompt": prompt, "logprobs": 2, "max_tokens": 50, **more}
    made = client.completions.create(**ask)
    found = [Told() for _ in made.choices]
    with client.completions.create(**ask, stream=True) as stream:
        for chunk in stream:
            for choice in chunk.choices:
                found[choice.index].add(choice)
    for mine, choice in zip(found, made.choices, strict=True):
        whole = Told()
        whole.add(choice)
        assert mine == whole
        assert mine.text_offset == sorted(mine.text_offset)


@dataclass
class Told:
    """A text and what is told of its tokens."""

    text: str = ""
    tokens: list = field(default_factory=list)
    token_logprobs: list = field(default_factory=list)
    top_logprobs: list = field(default_factory=list)
    text_offset: list = field(default_factory=list)

    def add(self, choice) -> None:
        self.text += choice.text
        for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
            if choice.logprobs is not None:
                getattr(self, name).extend(getattr(choice.logprobs, name))


@pytest.mark.parametrize(("stop", "text"), [("fé", "naïve ca"), (["zz", "v"], "naï"), ("n", "")])
def test_stops_end_a_text_and_do_not_show(client, stop, text):
    ask = {"model": "echo", "messages": HELLO, "stop": stop}
    plain = client.chat.completions.create(**ask).choices[0]
    assert (plain.message.content, plain.finish_reason) == (text, "stop")
    with client.chat.completions.create(**ask, stream=True) as stream:
        assert "".join(c.choices[0].delta.content or "" for c in stream) == text


def test_models_are_listed_and_found(client):
    names = [one.id for one in client.models.list()]
    assert names[:2] == ["echo", "words"]
    assert client.models.retrieve("short").max_model_len == 40
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("eco")
    assert caught.value.code == "model_not_found"


CHAT = {"model": "echo", "messages": HELLO}
TEXT = {"model": "echo", "prompt": "x"}
ERRORS = [
    (CHAT | {"model": "nix"}, openai.NotFoundError, "model_not_found", None),
    (TEXT | {"model": "encoder"}, openai.BadRequestError, "unsupported_option", "model"),
    (CHAT | {"model": "nochat"}, openai.BadRequestError, "template_failed", "messages"),
    (TEXT | {"model": "short", "prompt": "x" * 41}, openai.BadRequestError,
     "context_length_exceeded", "prompt"),
    (TEXT | {"model": "failing", "prompt": "BOOM"}, openai.InternalServerError,
     "engine_failed", None),
]  # fmt: skip


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("body", "error", "code", "field"), ERRORS)
def test_errors_have_their_status_before_the_first_byte(client, body, error, code, field, stream):
    route = client.chat.completions if "messages" in body else client.completions
    with pytest.raises(error) as caught:
        route.create(**body, stream=stream)
    assert (caught.value.code, caught.value.param) == (code, field)
    if code == "context_length_exceeded":
        assert "41" in caught.value.message and "40" in caught.value.message


def test_a_prompt_of_a_list_that_fails_is_named(client):
    with pytest.raises(openai.InternalServerError, match="prompt 1: "):
        client.completions.create(model="failing", prompt=["a", "BOOM"])
    with pytest.raises(openai.APIError, match="told to fail"):
        list(client.completions.create(model="failing", prompt=["aaa", "BOOM"], stream=True))


def test_many_at_once(server):
    async def ask(client, at):
        made = await client.chat.completions.create(
            model="echo", messages=[{"role": "user", "content": f"message {at}"}]
        )
        return made.choices[0].message.content

    async def ask_all():
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="x") as client:
            return await asyncio.gather(*(ask(client, at) for at in range(40)))

    assert asyncio.run(ask_all()) == [f"message {at}" for at in range(40)]
