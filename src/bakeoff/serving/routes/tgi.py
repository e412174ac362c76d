"""text-generation-inference's routes: `/generate`, `/generate_stream`, `/info`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from bakeoff._version import __version__
from bakeoff.core.codes import FinishReason
from bakeoff.core.outputs import Completion, TokenLogprob
from bakeoff.serving.desk import Ask, Desk
from bakeoff.serving.events import Wire, whole
from bakeoff.serving.fields import called
from bakeoff.serving.models import Served
from bakeoff.serving.openai.asking import generates, params_of, prompt_of
from bakeoff.serving.openai.logprobs import Pieces, token_ids
from bakeoff.serving.routes.state import DeskOf, ask_of, asked_of, model_of, said_of, stream
from bakeoff.serving.tgi.bodies import NAMES, GenerateBody
from bakeoff.serving.wording import Json, json_bytes, worded

router = APIRouter()
NEW_TOKENS = 100
"""Of a request that does not say how many, as that server has it."""
WIRE = Wire.server_sent(lambda problem: b"data:" + bytes(worded("/generate", problem).body))


@router.post("/generate", operation_id="tgi_generate")
async def generate(body: GenerateBody, request: Request, desk: DeskOf) -> Response:
    """Go on where a text ends."""
    served = await model_of(desk.models.named(body.model), request, desk)
    ask = _ask(body, request, served, desk)
    with called(NAMES):
        ((made,),) = await whole(request, desk.complete(ask))
    reply: dict[str, Any] = {"generated_text": _full(body, made.text)}
    if body.decoding().details or body.decoding().decoder_input_details:
        pieces = await served.pieces(token_ids(made))
        reply["details"] = await _details(body, ask, made, pieces)
    return Json(reply, 200, said_of(body, desk, body.decoding()))


@router.post("/generate_stream", operation_id="tgi_generate_stream")
async def generate_stream(body: GenerateBody, request: Request, desk: DeskOf) -> Response:
    """The same, piece by piece."""
    served = await model_of(desk.models.named(body.model), request, desk)
    ask = _ask(body, request, served, desk)
    # pieces of a stream carry no probabilities
    plain = tuple(replace(one, logprobs=None, prompt_logprobs=None) for one in ask.requests)
    ask = replace(ask, requests=plain)
    return await stream(
        request, WIRE, _events(body, ask, desk), said_of(body, desk, body.decoding())
    )


@router.get("/info", operation_id="tgi_info")
async def info(request: Request, desk: DeskOf) -> Response:
    """The first model, and the limits of a request."""
    served = await model_of(None, request, desk)
    limits, window = desk.options.limits, served.window
    return Json(
        {
            "model_id": served.name,
            "model_sha": served.facts.ref.revision,
            "model_dtype": served.engine.info.dtype,
            "model_device_type": served.engine.info.device,
            "model_pipeline_tag": "text-generation",
            "max_concurrent_requests": desk.options.running + desk.options.queue,
            "max_best_of": 1,
            "max_stop_sequences": limits.stops,
            "max_input_length": window,
            "max_input_tokens": window,
            "max_total_tokens": window,
            "version": __version__,
            "router": "bakeoff",
        }
    )


def _ask(body: GenerateBody, request: Request, served: Served, desk: Desk) -> Ask:
    said = body.decoding()
    said.refuse()
    generates(served)
    asked = asked_of(request, served, desk)
    with called(NAMES):
        asked = replace(asked, wanted=said.wanted())
        asked.limits.most("logprobs", said.top_n_tokens or 0, asked.limits.logprobs)
        wanted = said.sampling()
        params = params_of(wanted, asked, wanted.max_tokens, NEW_TOKENS)
        told = said.details or said.decoder_input_details
        prompts = [prompt_of(body.inputs, served)]
        (made,) = asked.requests(prompts, params, (said.top_n_tokens or 0) if told else None)
    if said.decoder_input_details:
        made = replace(made, prompt_logprobs=0)
    return ask_of(asked, (made,), "inputs")


def _full(body: GenerateBody, text: str) -> str:
    return body.inputs + text if body.decoding().return_full_text else text


async def _details(
    body: GenerateBody, ask: Ask, made: Completion, pieces: Pieces
) -> dict[str, Any]:
    prefill: list[dict[str, Any]] = []
    if made.prompt_logprobs is not None:
        ids = await ask.served.engine.read(ask.requests[0].prompt)
        texts = await ask.served.pieces(set(ids))
        told = zip(ids, made.prompt_logprobs, strict=False)
        prefill = [
            {"id": token, "text": texts[token], "logprob": None if one is None else one.logprob}
            for token, one in told
        ]
    found: dict[str, Any] = {
        **_end(made.finish, made.usage.completion, ask),
        "prefill": prefill,
        "tokens": [_token(one, pieces) for one in made.logprobs or ()],
    }
    if body.decoding().top_n_tokens:
        found["top_tokens"] = [
            [_token(TokenLogprob(token, "", value), pieces) for token, value in one.top]
            for one in made.logprobs or ()
        ]
    return found


def _end(finish: FinishReason, tokens: int, ask: Ask) -> dict[str, Any]:
    reason = "length" if finish is FinishReason.LENGTH else "eos_token"
    return {
        "finish_reason": reason,
        "generated_tokens": tokens,
        "seed": ask.requests[0].params.seed,
    }


def _token(one: TokenLogprob, pieces: Pieces) -> dict[str, Any]:
    return {"id": one.id, "text": pieces[one.id], "logprob": one.logprob, "special": False}


async def _events(body: GenerateBody, ask: Ask, desk: Desk) -> AsyncGenerator[bytes, None]:
    at, text = 0, ""
    async with aclosing(desk.stream(ask)) as pieces:
        async for piece in pieces:
            chunk = piece.chunk
            at, text = at + 1, text + chunk.text
            event: dict[str, Any] = {
                "index": at,
                "token": {
                    "id": chunk.token_ids[-1] if chunk.token_ids else 0,
                    "text": chunk.text,
                    "logprob": None,
                    "special": not chunk.text,
                },
                "generated_text": None,
                "details": None,
            }
            if chunk.finish is not None:
                written = 0 if chunk.usage is None else chunk.usage.completion
                event["generated_text"] = _full(body, text)
                event["details"] = _end(chunk.finish, written, ask)
            yield b"data:" + json_bytes(event) + b"\n\n"
