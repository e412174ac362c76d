"""What routes ask of the application that they are part of."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from bakeoff.serving.body import Body
from bakeoff.serving.desk import Desk
from bakeoff.serving.events import EventStream, Wire
from bakeoff.serving.log import LOG, printable

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


def said_of(body: Body, desk: Desk, *inside: Body) -> dict[str, str]:
    """The headers that tell what of a body, and of parts inside it, was ignored.

    The log hears of each field once.
    """
    told: list[str] = []
    for one in (body, *inside):
        names = [printable(name, 64) for name in one.ignored()[:_NAMED]]
        new = desk.new_fields(names)
        if new:
            LOG.warning("fields that are ignored: %s", ", ".join(new))
        told += names
    return {_IGNORED: ", ".join(told)} if told else {}


async def stream(
    request: Request, wire: Wire, events: AsyncGenerator[bytes, None], headers: Mapping[str, str]
) -> Response:
    """The response for events, once the first is there.

    Raises:
        Exception: what ended them before the first.
    """
    return await EventStream(wire, events, headers).begin(request)
