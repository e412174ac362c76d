"""Ollama's routes: generate, chat, embed, and what says which models there are."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from bakeoff._version import __version__
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.outputs import Usage
from bakeoff.core.requests import Lane, Message, Prompt, Tokens
from bakeoff.serving.desk import Ask, Desk
from bakeoff.serving.events import Wire, whole
from bakeoff.serving.fields import called
from bakeoff.serving.models import Served
from bakeoff.serving.ollama.bodies import (
    NAMES,
    Asking,
    ChatBody,
    EmbedBody,
    GenerateBody,
    OldEmbedBody,
    ShowBody,
)
from bakeoff.serving.ollama.replies import Seconds, Teller, listed, running, shown
from bakeoff.serving.openai.asking import (
    CHAT_TOKENS,
    conversation,
    generates,
    messages_of,
    params_of,
    prompt_of,
)
from bakeoff.serving.openai.calling import read_on, read_whole
from bakeoff.serving.openai.formats import Wanted
from bakeoff.serving.openai.replies import finish_name
from bakeoff.serving.routes.state import (
    DeskOf,
    ask_of,
    asked_of,
    model_of,
    request_id,
    said_of,
    stream,
)
from bakeoff.serving.tools.choosing import Tools, tools_of
from bakeoff.serving.wording import Json, json_bytes, worded

router = APIRouter(prefix="/api")
WIRE = Wire(
    media_type="application/x-ndjson",
    failed=lambda problem: bytes(worded("/api/", problem).body) + b"\n",
)
_TAG = ":latest"


@router.post("/generate", operation_id="ollama_generate")
async def generate(body: GenerateBody, request: Request, desk: DeskOf) -> Response:
    """Answer a prompt; with `raw`, or where the model takes no conversation, go on from it."""
    served = await _served(body.model, request, desk)
    _check(body, served)
    teller = Teller(body.model, "generate")
    if not body.prompt and not body.suffix:
        return _loaded(teller, said_of(body, desk, body.decoding()))
    prompt = await _prompt(body, served)
    return await _answer(body, prompt, teller, request, desk)


@router.post("/chat", operation_id="ollama_chat")
async def chat(body: ChatBody, request: Request, desk: DeskOf) -> Response:
    """Answer a conversation."""
    served = await _served(body.model, request, desk)
    _check(body, served)
    teller = Teller(body.model, "chat")
    if not body.messages:
        return _loaded(teller, said_of(body, desk, body.decoding()))
    desk.options.limits.count("messages", body.messages, desk.options.limits.messages)
    tools = tools_of(body.tools, None, served.facts, desk.options.limits)
    said = [one.model_copy(update={"name": one.tool_name or one.name}) for one in body.messages]
    prompt = conversation(messages_of(said), served, () if tools is None else tools.given)
    return await _answer(body, prompt, replace(teller, tools=tools), request, desk)


@router.get("/tags", operation_id="ollama_tags")
async def tags(desk: DeskOf) -> Response:
    """The models, loaded or not."""
    return Json({"models": [listed(one) for one in desk.models.known()]})


@router.get("/ps", operation_id="ollama_ps")
async def ps(desk: DeskOf) -> Response:
    """The models that are loaded."""
    return Json({"models": [running(one) for one in desk.models.known() if one.served]})


@router.post("/show", operation_id="ollama_show")
async def show(body: ShowBody, desk: DeskOf) -> Response:
    """What a model is."""
    known = desk.models.about(_name(body.model or body.name or "", desk))
    return Json(shown(known), 200, said_of(body, desk))


@router.get("/version", operation_id="ollama_version")
async def version() -> Response:
    """Of bakeoff."""
    return Json({"version": __version__})


@router.post("/embed", operation_id="ollama_embed")
async def embed(body: EmbedBody, request: Request, desk: DeskOf) -> Response:
    """Vectors of texts."""
    body.refuse()
    served = await _served(body.model, request, desk)
    began = time.perf_counter()
    texts = [body.input] if isinstance(body.input, str) else body.input
    vectors, tokens = await whole(request, desk.embed(served, request_id(request), texts))
    reply = {
        "model": body.model,
        "embeddings": [list(one) for one in vectors],
        "total_duration": int((time.perf_counter() - began) * 10**9),
        "load_duration": 0,
        "prompt_eval_count": tokens,
    }
    return Json(reply, 200, said_of(body, desk))


@router.post("/embeddings", operation_id="ollama_embeddings")
async def embeddings(body: OldEmbedBody, request: Request, desk: DeskOf) -> Response:
    """The vector of one text, in the older form."""
    served = await _served(body.model, request, desk)
    (vector,), _ = await whole(request, desk.embed(served, request_id(request), [body.prompt]))
    return Json({"embedding": list(vector)}, 200, said_of(body, desk))


def _name(name: str, desk: Desk) -> str:
    """The name that is served; clients add `:latest` to one without a tag."""
    bare = name.removesuffix(_TAG)
    return bare if desk.models.named(name) is None and desk.models.named(bare) else name


async def _served(name: str, request: Request, desk: Desk) -> Served:
    return await model_of(_name(name, desk), request, desk)


def _check(body: Asking, served: Served) -> None:
    body.refuse()
    body.decoding().refuse()
    generates(served)


async def _prompt(body: GenerateBody, served: Served) -> Prompt:
    said = body.prompt or ""
    if body.suffix:
        return Tokens(tuple(await served.engine.fill(said, body.suffix)))
    if body.raw or not served.engine.capabilities.chat_template:
        if body.system:
            raise InvalidRequest("system needs a model that takes conversations", field="system")
        return prompt_of(said, served)
    system = (Message("system", body.system),) if body.system else ()
    return conversation((*system, Message("user", said)), served)


def _loaded(teller: Teller, headers: dict[str, str]) -> Response:
    """The answer to nothing: the model is loaded by now."""
    return Json(teller.last("", "load", Usage(), Seconds(0.0)), 200, headers)


async def _answer(
    body: Asking, prompt: Prompt, teller: Teller, request: Request, desk: Desk
) -> Response:
    served = await _served(body.model, request, desk)
    lane: Lane = "edit" if isinstance(prompt, Tokens) else "chat"
    asked = asked_of(request, served, desk, lane)
    with called(NAMES):
        asked = replace(asked, wanted=_wanted(body, teller.tools))
        said = body.decoding().sampling()
        params = params_of(said, asked, said.max_tokens, CHAT_TOKENS)
        ask = ask_of(asked, asked.requests([prompt], params, None))
    headers = said_of(body, desk, body.decoding())
    if body.stream is not False:
        return await stream(request, WIRE, _lines(ask, teller, desk), headers)
    began = time.perf_counter()
    ((made,),) = await whole(request, desk.complete(ask))
    seconds = Seconds(time.perf_counter() - began, made.timing.first_token or 0.0)
    words, calls = made.text, list[tuple[str, str]]()
    if teller.tools is not None:
        words, calls = read_whole(teller.tools.reader(), made.text)
    reply = teller.last(words, finish_name(made.finish), made.usage, seconds, calls)
    return Json(reply, 200, headers)


def _wanted(body: Asking, tools: Tools | None) -> Wanted | None:
    said = body.wanted()
    if said is None or tools is None:
        return said
    return Wanted(tools.grammar_beside(said.grammar, said.field), said.field)


async def _lines(ask: Ask, teller: Teller, desk: Desk) -> AsyncGenerator[bytes, None]:
    began, first = time.perf_counter(), 0.0
    reader = None if teller.tools is None else teller.tools.reader()
    async with aclosing(desk.stream(ask)) as pieces:
        async for piece in pieces:
            first = first or time.perf_counter() - began
            chunk = piece.chunk
            words, calls = chunk.text, list[tuple[str, str]]()
            if reader is not None:
                words, calls = read_on(reader, chunk.text, ended=chunk.finish is not None)
            if words:
                yield _line(teller.piece(words))
            if calls:
                yield _line(teller.calls(calls))
            if chunk.finish is not None:
                seconds = Seconds(time.perf_counter() - began, first)
                usage = chunk.usage or Usage()
                yield _line(teller.last("", finish_name(chunk.finish), usage, seconds))


def _line(said: dict[str, Any]) -> bytes:
    return json_bytes(said) + b"\n"
