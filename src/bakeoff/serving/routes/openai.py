"""`/v1/completions` and `/v1/chat/completions`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Literal

from fastapi import APIRouter, Request
from starlette.responses import Response

from bakeoff.core.errors import InvalidRequest
from bakeoff.core.outputs import Completion, TokenChunk, Usage
from bakeoff.core.requests import GenerateRequest, Lane, Tokens
from bakeoff.serving.desk import Ask, Desk, total
from bakeoff.serving.events import Wire, whole
from bakeoff.serving.models import Served
from bakeoff.serving.openai.asking import chat_requests, completion_requests
from bakeoff.serving.openai.bodies import ChatBody, CompletionBody, Sampling
from bakeoff.serving.openai.calling import calls_in, wanted_of
from bakeoff.serving.openai.logprobs import Pieces, token_ids
from bakeoff.serving.openai.replies import (
    DONE,
    ChatEvents,
    Echo,
    Letterhead,
    TextEvents,
    chat_choice,
    text_choice,
    usage_object,
)
from bakeoff.serving.routes.state import DeskOf, ask_of, asked_of, model_of, said_of, stream
from bakeoff.serving.wording import Json, error_object, json_bytes

router = APIRouter()
WIRE = Wire.server_sent(lambda problem: b"data: " + json_bytes(error_object(problem)))


@router.post("/v1/completions", operation_id="create_completion")
async def completions(body: CompletionBody, request: Request, desk: DeskOf) -> Response:
    """Go on where a text ends; no chat template is applied."""
    served = await model_of(body.model, request, desk)
    wanted = body.wanted()
    asked = replace(asked_of(request, served, desk, _lane(body)), wanted=wanted)
    ask = ask_of(asked, completion_requests(body, asked, await _filled(body, served)))
    echoes = await asyncio.gather(*(_echo(body, served, one) for one in ask.requests))
    head = _head(request, "text", body, served)
    headers = said_of(body, desk)
    if body.stream:
        events = TextEvents(head, echoes, ask.choices, _usage_slot(body))
        return await stream(request, WIRE, _events(desk, ask, events), headers)
    made = await whole(request, desk.complete(ask))
    pieces = await _pieces(served, _flat(made), echoes)
    choices = [
        text_choice(at, one, pieces, echoes[at // ask.choices])
        for at, one in enumerate(_flat(made))
    ]
    return Json(head.reply(choices, _total(made)), 200, headers)


@router.post("/v1/chat/completions", operation_id="create_chat_completion")
async def chat(body: ChatBody, request: Request, desk: DeskOf) -> Response:
    """Answer a conversation, rendered by the checkpoint's own chat template."""
    served = await model_of(body.model, request, desk)
    calls = calls_in(body, served.facts, desk.options.limits)
    asked = replace(asked_of(request, served, desk), wanted=wanted_of(body, calls))
    told_of = () if calls is None else calls.tools.given
    ask = ask_of(asked, chat_requests(body, asked, told_of), "messages")
    head = _head(request, "chat", body, served)
    headers = {**said_of(body, desk), **_folded(body, served)}
    if body.stream:
        events = ChatEvents(head, _usage_slot(body), calls)
        return await stream(request, WIRE, _events(desk, ask, events), headers)
    made = await whole(request, desk.complete(ask))
    pieces = await _pieces(served, _flat(made))
    choices = [chat_choice(at, one, pieces, calls) for at, one in enumerate(_flat(made))]
    return Json(head.reply(choices, _total(made)), 200, headers)


async def _events(
    desk: Desk, ask: Ask, told: ChatEvents | TextEvents
) -> AsyncGenerator[bytes, None]:
    """All events of an answer, `[DONE]` included."""
    used: dict[int, list[Usage]] = {}
    echoes = told.echoes if isinstance(told, TextEvents) else ()
    async with aclosing(desk.stream(ask)) as chunks:
        async for piece in chunks:
            if piece.chunk.usage is not None:
                used.setdefault(piece.index // ask.choices, []).append(piece.chunk.usage)
            names = await _pieces(ask.served, [piece.chunk], echoes)
            for event in told.events(piece.index, piece.chunk, names):
                yield event
    if told.usage:
        yield told.head.event([], usage=usage_object(total(list(used.values()))))
    yield DONE


async def _filled(body: CompletionBody, served: Served) -> list[int] | None:
    """The prompt of a text to be put between two others, or None where there is no suffix."""
    if body.suffix is None or (not body.suffix and not served.engine.capabilities.fim_tokens):
        return None
    if not isinstance(body.prompt, str):
        raise InvalidRequest(
            "suffix goes with a prompt that is one text, not a list", field="suffix"
        )
    return await served.engine.fill(body.prompt, body.suffix)


def _lane(body: CompletionBody) -> Lane:
    if body.suffix is not None:
        return "edit"
    return "chat" if isinstance(body.prompt, str) else "batch"


def _head(
    request: Request, kind: Literal["chat", "text"], body: Sampling, served: Served
) -> Letterhead:
    prefix = "chatcmpl" if kind == "chat" else "cmpl"
    return Letterhead(
        id=f"{prefix}-{request.scope['bakeoff.id']}",
        kind=kind,
        created=int(time.time()),
        model=served.name if body.model is None else body.model,
        fingerprint=served.fingerprint,
    )


def _usage_slot(body: Sampling) -> dict[str, Any]:
    """What events carry under `usage` where the last one tells it; else nothing."""
    wanted = body.stream_options is not None and body.stream_options.include_usage
    return {"usage": None} if wanted else {}


def _folded(body: ChatBody, served: Served) -> dict[str, str]:
    """The header that says what was done to a conversation that the template does not take."""
    system = any(one.role in ("system", "developer") for one in body.messages)
    if not system or served.facts.chat.system or served.facts.capabilities.kind != "causal":
        return {}
    return {"x-bakeoff-messages": "the system message was put before the user's"}


async def _echo(body: CompletionBody, served: Served, request: GenerateRequest) -> Echo:
    if not body.echo:
        return Echo()
    prompt = request.prompt
    if isinstance(body.prompt, str) and request.prompt_logprobs is None:
        return Echo(body.prompt)
    if isinstance(prompt, Tokens):
        return Echo(await served.engine.decode(prompt.ids), prompt.ids[0])
    text = getattr(prompt, "text", "")
    if request.prompt_logprobs is None:
        return Echo(text)
    ids = await served.engine.read(prompt)
    return Echo(text, ids[0] if ids else None)


async def _pieces(
    served: Served, made: Sequence[Completion | TokenChunk], echoes: Sequence[Echo] = ()
) -> Pieces:
    """Texts of the tokens whose log-probabilities are told; none where none are."""
    ids = {token for one in made for token in token_ids(one)}
    if any(one.prompt_logprobs is not None for one in made):
        ids |= {echo.first for echo in echoes if echo.first is not None}
    return await served.pieces(ids) if ids else {}


def _flat(made: Sequence[Sequence[Completion]]) -> list[Completion]:
    return [one for choices in made for one in choices]


def _total(made: Sequence[Sequence[Completion]]) -> Usage:
    return total([[one.usage for one in choices] for choices in made])
