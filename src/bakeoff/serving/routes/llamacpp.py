"""llama.cpp's routes: `/completion`, `/infill`, `/props`, `/slots`, `/embedding`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bakeoff._version import __version__
from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.outputs import Completion, TokenChunk, Usage
from bakeoff.core.requests import GenerationParams, Prompt, Text, Tokens
from bakeoff.serving.desk import Ask, Desk
from bakeoff.serving.events import Wire, whole
from bakeoff.serving.fields import called
from bakeoff.serving.llamacpp.bodies import (
    NAMES,
    CompletionBody,
    EmbeddingBody,
    InfillBody,
    LlamaSampling,
    Mixed,
)
from bakeoff.serving.llamacpp.replies import (
    Ended,
    Told,
    ended,
    event,
    last_event,
    told_of,
)
from bakeoff.serving.models import Served
from bakeoff.serving.openai.asking import CHAT_TOKENS, Asked, generates, params_of, prompt_of
from bakeoff.serving.openai.logprobs import token_ids
from bakeoff.serving.problems import Problem, Refusal
from bakeoff.serving.routes.state import (
    DeskOf,
    ask_of,
    asked_of,
    model_of,
    request_id,
    said_of,
    stream,
)
from bakeoff.serving.wording import Json, worded

router = APIRouter()
WIRE = Wire.server_sent(lambda problem: b"data: " + bytes(worded("/completion", problem).body))


@router.post("/completion", operation_id="llama_completion")
async def completion(body: CompletionBody, request: Request, desk: DeskOf) -> Response:
    """Go on where a prompt ends; no template is applied."""
    served = await model_of(desk.models.named(body.model), request, desk)
    body.refuse()
    said = _prompts(body)
    desk.options.limits.count("prompt", said, desk.options.limits.prompts)
    prompts = [await _read(one, served) for one in said]
    ask = _ask(body, prompts, asked_of(request, served, desk))
    told = Told(served.name, body.prompt if isinstance(body.prompt, str) else "", _params(ask))
    return await _answer(body, ask, told, body.several, request, desk)


@router.post("/infill", operation_id="llama_infill")
async def infill(body: InfillBody, request: Request, desk: DeskOf) -> Response:
    """Write what stands between a prefix and a suffix, in the model's own tokens for that."""
    served = await model_of(desk.models.named(body.model), request, desk)
    body.refuse()
    with called(NAMES):
        prompt = Tokens(tuple(await _filled(body, served)))
    asked = asked_of(request, served, desk, "edit")
    ask = _ask(body, [prompt], asked)
    return await _answer(body, ask, Told(served.name, "", _params(ask)), False, request, desk)


@router.get("/props", operation_id="llama_props")
async def props(
    request: Request, desk: DeskOf, model: Annotated[str | None, Query()] = None
) -> Response:
    """What the model is; texts of requests never show here."""
    served = await model_of(model, request, desk)
    return Json(
        {
            "default_generation_settings": {
                "n_ctx": served.window,
                "params": served.facts.defaults.said(),
            },
            "total_slots": desk.options.running,
            "model_alias": served.name,
            "chat_template": served.tokenizer.chat_template or "",
            "bos_token": served.tokenizer.bos or "",
            "eos_token": served.tokenizer.eos or "",
            "modalities": {"vision": False, "audio": False},
            "build_info": f"bakeoff {__version__}",
        }
    )


@router.get("/slots", operation_id="llama_slots")
async def slots(
    desk: DeskOf,
    fail_on_no_slot: Annotated[str, Query()] = "",
    model: Annotated[str | None, Query()] = None,
) -> Response:
    """Places for requests at a model, and which are taken; texts never show here."""
    total = desk.options.running
    running = desk.gates.of(desk.models.about(model).entry.name).running
    if fail_on_no_slot not in ("", "0") and running >= total:
        raise Refusal(Problem(503, "no slot is free", "unavailable", retry_after=1))
    return Json([{"id": at, "is_processing": at < running} for at in range(total)])


@router.post("/embedding", operation_id="llama_embedding")
async def embedding(body: EmbeddingBody, request: Request, desk: DeskOf) -> Response:
    """Vectors of texts."""
    body.refuse()
    served = await model_of(desk.models.named(body.model), request, desk)
    texts = [body.content] if isinstance(body.content, str) else body.content
    with called({"input": "content"}):
        vectors, _ = await whole(request, desk.embed(served, request_id(request), texts))
    reply = [{"index": at, "embedding": [list(one)]} for at, one in enumerate(vectors)]
    return Json(reply, 200, said_of(body, desk))


def _prompts(body: CompletionBody) -> list[Mixed]:
    said = body.prompt
    if isinstance(said, str):
        return [said]
    if body.several:
        return [one for one in said if not isinstance(one, int)]
    return [[one for one in said if not isinstance(one, list)]]


async def _read(said: Mixed, served: Served) -> Prompt:
    """A prompt in one piece; its texts are tokenised without special tokens but at its head."""
    if isinstance(said, str):
        return prompt_of(said, served)
    ids: list[int] = []
    for at, one in enumerate(said):
        if isinstance(one, int):
            ids.append(one)
        else:
            ids += await served.engine.read(Text(one), special=at == 0)
    if not ids:
        raise InvalidRequest("prompt holds an empty list: write a token", field="prompt")
    return Tokens(tuple(ids))


async def _filled(body: InfillBody, served: Served) -> list[int]:
    """The prompt; of other files, as many of the last as the window holds."""
    generates(served)
    start = await served.engine.read(Text(body.prompt), special=False) if body.prompt else []
    room = None if served.window is None else served.window - max(body.n_predict or 0, 0)
    extra = list(body.input_extra)
    while True:
        files = tuple((one.filename, one.text) for one in extra)
        ids = await served.engine.fill(body.input_prefix, body.input_suffix, files)
        if not extra or room is None or len(ids) + len(start) <= room:
            return [*ids, *start]
        extra = extra[(len(extra) + 1) // 2 :]  # the oldest half: a few tries at most


def _ask(body: LlamaSampling, prompts: Sequence[Prompt], asked: Asked) -> Ask:
    generates(asked.served)
    asked = replace(asked, wanted=body.wanted())
    with called(NAMES):
        asked.limits.most("logprobs", body.n_probs or 0, asked.limits.logprobs)
        said = body.sampling()
        params = params_of(said, asked, said.max_tokens, CHAT_TOKENS)
        return ask_of(asked, asked.requests(prompts, params, body.n_probs or None))


def _params(ask: Ask) -> GenerationParams:
    return ask.requests[0].params


async def _answer(
    body: LlamaSampling, ask: Ask, told: Told, many: bool, request: Request, desk: Desk
) -> Response:
    headers = said_of(body, desk)
    if body.stream:
        return await stream(request, WIRE, _events(body, ask, told, desk), headers)
    with called(NAMES):
        made = await whole(request, desk.complete(ask))
    replies = [await _reply(body, ask, told, at, one) for at, (one,) in enumerate(made)]
    return Json(replies if many else replies[0], 200, headers)


async def _reply(
    body: LlamaSampling, ask: Ask, told: Told, at: int, made: Completion
) -> dict[str, Any]:
    end = await _ended(ask, told, made.finish, made.usage, made.token_ids)
    if not body.return_tokens:
        end = replace(end, ids=())
    return told.reply(at, made.text, end) | await _told(ask, made)


async def _told(ask: Ask, made: Completion | TokenChunk) -> dict[str, Any]:
    """What a reply or an event says about probabilities."""
    ids = token_ids(made)
    return told_of(made, await ask.served.pieces(ids) if ids else {})


async def _events(
    body: LlamaSampling, ask: Ask, told: Told, desk: Desk
) -> AsyncGenerator[bytes, None]:
    ids: dict[int, list[int]] = {}
    async with aclosing(desk.stream(ask)) as pieces:
        async for piece in pieces:
            chunk = piece.chunk
            ids.setdefault(piece.index, []).extend(chunk.token_ids)
            said = await _told(ask, chunk)
            if chunk.text:
                yield event(piece.index, chunk, said)
            if chunk.finish is not None:
                usage = chunk.usage or Usage()
                end = await _ended(ask, told, chunk.finish, usage, tuple(ids[piece.index]))
                rest = {} if chunk.text else said
                yield last_event(told.reply(piece.index, "", replace(end, ids=())) | rest)


async def _ended(
    ask: Ask, told: Told, finish: FinishReason, usage: Usage, ids: tuple[int, ...]
) -> Ended:
    looked_for = finish is FinishReason.STOP and told.params.stop
    decoded = await ask.served.engine.decode(ids) if looked_for else ""
    return replace(ended(finish, usage, decoded, told.params), ids=ids)
