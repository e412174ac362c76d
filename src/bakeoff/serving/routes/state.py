"""What routes ask of the application that they are part of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from bakeoff.core.requests import GenerateRequest, Lane
from bakeoff.serving.body import Body
from bakeoff.serving.desk import Ask, Desk
from bakeoff.serving.events import EventStream, Wire, whole
from bakeoff.serving.log import LOG, printable
from bakeoff.serving.models import Lease, Served
from bakeoff.serving.openai.asking import Asked

_NAMED = 20
"""Ignored fields that a header names at most."""
_IGNORED = "x-bakeoff-ignored"


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


DeskOf = Annotated[Desk, Depends(_desk)]
"""The server's state, as a parameter of a route."""


def request_id(request: Request) -> str:
    """Of this HTTP request; unique among those in flight, whatever its client called it."""
    return f"{request.scope['bakeoff.id'][:64]}-{id(request):x}"


async def model_of(name: str | None, request: Request, desk: Desk) -> Served:
    """The model of that name, or the first; it stays loaded until the request is over.

    Raises:
        ModelNotFound: there is none.
        Refusal: it cannot be loaded.
        ClientGone: the client left while it was loaded.
    """
    held: list[Lease] = request.scope["bakeoff.leases"]
    lease = desk.models.at_once(name)
    if lease is not None:
        held.append(lease)
        return lease.served

    async def hold() -> Served:
        held.append(await desk.lease(name))
        return held[-1].served

    return await whole(request, hold())


def asked_of(request: Request, served: Served, desk: Desk, lane: Lane = "chat") -> Asked:
    """What the requests of this HTTP request have in common."""
    scope: str = request.scope["bakeoff.cache"]
    return Asked(request_id(request), served, desk.options.limits, lane, scope)


def ask_of(
    asked: Asked, requests: tuple[GenerateRequest, ...], prompt_field: str = "prompt"
) -> Ask:
    """These requests together; `prompt_field` of the body holds their prompts."""
    ask = Ask(asked.served, requests, prompt_field)
    return ask if asked.wanted is None else replace(ask, grammar_field=asked.wanted.field)


def said_of(body: Body, desk: Desk, *inside: Body) -> dict[str, str]:
    """The headers that tell what of a body, and of parts inside it, was ignored.

    The log hears of each field once.
    """
    told: list[str] = []
    for one in (body, *inside):
        names = [_shown(name) for name in one.ignored()[:_NAMED]]
        new = desk.new_fields(names)
        if new:
            LOG.warning("fields that are ignored: %s", ", ".join(new))
        told += names
    return {_IGNORED: ", ".join(told)} if told else {}


def _shown(name: str) -> str:
    """A field's name as it may stand in a header, where no blank may be first or last."""
    text = printable(name, 64)
    return text if text and text == text.strip() else f'"{text}"'


async def stream(
    request: Request, wire: Wire, events: AsyncGenerator[bytes, None], headers: Mapping[str, str]
) -> Response:
    """The response for events, once the first is there.

    Raises:
        Exception: what ended them before the first.
    """
    return await EventStream(wire, events, headers).begin(request)
