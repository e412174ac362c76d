"""Ollama's routes: generate, chat, embed, and what says which models there are."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from bakeoff._version import __version__
from bakeoff.core.errors import InvalidRequest, ModelNotFound
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
from bakeoff.serving.ollama.replies import Seconds, Teller, listed, shown
from bakeoff.serving.openai.asking import (
    CHAT_TOKENS,
    Asked,
    conversation,
    generates,
    messages_of,
    params_of,
    prompt_of,
)
from bakeoff.serving.openai.replies import finish_name
from bakeoff.serving.routes.state import DeskOf, request_id, said_of, stream
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
    served = _served(body.model, desk)
    _check(body, served)
    teller = Teller(body.model, "generate")
    if not body.prompt and not body.suffix:
        return _loaded(teller)
    prompt = await _prompt(body, served)
    return await _answer(body, prompt, teller, request, desk)


@router.post("/chat", operation_id="ollama_chat")
async def chat(body: ChatBody, request: Request, desk: DeskOf) -> Response:
    """Answer a conversation."""
    served = _served(body.model, desk)
    _check(body, served)
    teller = Teller(body.model, "chat")
    if not body.messages:
        return _loaded(teller)
    desk.options.limits.count("messages", body.messages, desk.options.limits.messages)
    prompt = conversation(messages_of(body.messages), served)
    return await _answer(body, prompt, teller, request, desk)


@router.get("/tags", operation_id="ollama_tags")
async def tags(desk: DeskOf) -> Response:
    """The models."""
    return Json({"models": [listed(name, one) for name, one in desk.models.names().items()]})


@router.get("/ps", operation_id="ollama_ps")
async def ps(desk: DeskOf) -> Response:
    """The models that are loaded, which are all."""
    far = "9999-12-31T00:00:00Z"
    models = [
        {**listed(name, one), "expires_at": far, "size_vram": 0}
        for name, one in desk.models.names().items()
    ]
    return Json({"models": models})


@router.post("/show", operation_id="ollama_show")
async def show(body: ShowBody, desk: DeskOf) -> Response:
    """What a model is."""
    return Json(shown(_served(body.model or body.name or "", desk)))


@router.get("/version", operation_id="ollama_version")
async def version() -> Response:
    """Of bakeoff."""
    return Json({"version": __version__})


@router.post("/embed", operation_id="ollama_embed")
async def embed(body: EmbedBody, request: Request, desk: DeskOf) -> Response:
    """Vectors of texts."""
    body.refuse()
    served = _served(body.model, desk)
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
    served = _served(body.model, desk)
    (vector,), _ = await whole(request, desk.embed(served, request_id(request), [body.prompt]))
    return Json({"embedding": list(vector)}, 200, said_of(body, desk))


def _served(name: str, desk: Desk) -> Served:
    """The model; clients add `:latest` to a name without a tag."""
    try:
        return desk.models.get(name)
    except ModelNotFound:
        if not name.endswith(_TAG):
            raise
        return desk.models.get(name.removesuffix(_TAG))


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


def _loaded(teller: Teller) -> Response:
    """The answer to nothing: the model is loaded already."""
    return Json(teller.last("", "load", Usage(), Seconds(0.0)))


async def _answer(
    body: Asking, prompt: Prompt, teller: Teller, request: Request, desk: Desk
) -> Response:
    served = _served(body.model, desk)
    lane: Lane = "edit" if isinstance(prompt, Tokens) else "chat"
    asked = Asked(request_id(request), served, desk.options.limits, lane)
    with called(NAMES):
        said = body.decoding().sampling()
        params = params_of(said, asked, said.max_tokens, CHAT_TOKENS)
        ask = Ask(served, asked.requests([prompt], params, None))
    headers = said_of(body, desk, body.decoding())
    if body.stream is not False:
        return await stream(request, WIRE, _lines(ask, teller, desk), headers)
    began = time.perf_counter()
    ((made,),) = await whole(request, desk.complete(ask))
    seconds = Seconds(time.perf_counter() - began, made.timing.first_token or 0.0)
    reply = teller.last(made.text, finish_name(made.finish), made.usage, seconds)
    return Json(reply, 200, headers)


async def _lines(ask: Ask, teller: Teller, desk: Desk) -> AsyncGenerator[bytes, None]:
    began, first = time.perf_counter(), 0.0
    async with aclosing(desk.stream(ask)) as pieces:
        async for piece in pieces:
            first = first or time.perf_counter() - began
            chunk = piece.chunk
            if chunk.text:
                yield _line(teller.piece(chunk.text))
            if chunk.finish is not None:
                seconds = Seconds(time.perf_counter() - began, first)
                usage = chunk.usage or Usage()
                yield _line(teller.last("", finish_name(chunk.finish), usage, seconds))


def _line(said: dict[str, Any]) -> bytes:
    return json_bytes(said) + b"\n"
