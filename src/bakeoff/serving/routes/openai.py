"""`/v1/completions` and `/v1/chat/completions`."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, Literal

from fastapi import APIRouter, Request
from starlette.responses import Response

from bakeoff.core.errors import InvalidRequest
from bakeoff.core.outputs import Completion, Usage
from bakeoff.core.requests import GenerateRequest, Lane, Tokens
from bakeoff.serving.desk import Ask, Desk, total
from bakeoff.serving.events import Wire, whole
from bakeoff.serving.models import Served
from bakeoff.serving.openai.asking import Asked, chat_requests, completion_requests
from bakeoff.serving.openai.bodies import ChatBody, CompletionBody, Sampling
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
from bakeoff.serving.routes.state import DeskOf, request_id, said_of, stream
from bakeoff.serving.wording import Json, error_object, json_bytes

router = APIRouter()
WIRE = Wire.server_sent(lambda problem: b"data: " + json_bytes(error_object(problem)))


@router.post("/v1/completions", operation_id="create_completion")
async def completions(body: CompletionBody, request: Request, desk: DeskOf) -> Response:
    """Go on where a text ends; no chat template is applied."""
    served = desk.models.get(body.model)
    asked = Asked(request_id(request), served, desk.options.limits, _lane(body))
    ask = Ask(served, completion_requests(body, asked, await _filled(body, served)))
    echoes = [await _echo(body, served, one) for one in ask.requests]
    head = _head(request, "text", body, served)
    headers = said_of(body, desk)
    if body.stream:
        events = TextEvents(head, echoes, ask.choices, _usage_slot(body))
        return await stream(request, WIRE, _events(desk, ask, events), headers)
    made = await whole(request, desk.complete(ask))
    pieces = await _pieces(served, made, echoes)
    choices = [
        text_choice(at, one, pieces, echoes[at // ask.choices])
        for at, one in enumerate(_flat(made))
    ]
    return Json(head.reply(choices, _total(made)), 200, headers)


@router.post("/v1/chat/completions", operation_id="create_chat_completion")
async def chat(body: ChatBody, request: Request, desk: DeskOf) -> Response:
    """Answer a conversation, rendered by the checkpoint's own chat template."""
    served = desk.models.get(body.model)
    asked = Asked(request_id(request), served, desk.options.limits, "chat")
    ask = Ask(served, chat_requests(body, asked), "messages")
    head = _head(request, "chat", body, served)
    headers = {**said_of(body, desk), **_folded(body, served)}
    if body.stream:
        events = ChatEvents(head, _usage_slot(body))
        return await stream(request, WIRE, _events(desk, ask, events), headers)
    made = await whole(request, desk.complete(ask))
    pieces = await _pieces(served, made)
    choices = [chat_choice(at, one, pieces) for at, one in enumerate(_flat(made))]
    return Json(head.reply(choices, _total(made)), 200, headers)


async def _events(
    desk: Desk, ask: Ask, told: ChatEvents | TextEvents
) -> AsyncGenerator[bytes, None]:
    """All events of an answer, `[DONE]` included."""
    used: dict[int, list[Usage]] = {}
    if any(one.logprobs is not None for one in ask.requests):
        made = await desk.complete(ask)
        echoes = told.echoes if isinstance(told, TextEvents) else ()
        pieces = await _pieces(ask.served, made, echoes)
        for at, one in enumerate(_flat(made)):
            used.setdefault(at // ask.choices, []).append(one.usage)
            for event in told.whole(at, one, pieces):
                yield event
    else:
        async with aclosing(desk.stream(ask)) as chunks:
            async for piece in chunks:
                if piece.chunk.usage is not None:
                    used.setdefault(piece.index // ask.choices, []).append(piece.chunk.usage)
                for event in told.events(piece.index, piece.chunk):
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
    served: Served, made: Sequence[Sequence[Completion]], echoes: Sequence[Echo] = ()
) -> Pieces:
    ids = {token for one in _flat(made) for token in token_ids(one)}
    ids |= {echo.first for echo in echoes if echo.first is not None}
    return await served.pieces(ids) if ids else {}


def _flat(made: Sequence[Sequence[Completion]]) -> list[Completion]:
    return [one for choices in made for one in choices]


def _total(made: Sequence[Sequence[Completion]]) -> Usage:
    return total([[one.usage for one in choices] for choices in made])
