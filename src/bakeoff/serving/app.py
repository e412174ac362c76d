"""`create_app`: the data plane as one ASGI application."""

from __future__ import annotations

import time
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bakeoff._version import __version__
from bakeoff.core.errors import BakeoffError
from bakeoff.serving.desk import Desk
from bakeoff.serving.events import ClientGone
from bakeoff.serving.guard import Guard
from bakeoff.serving.log import LOG, printable, told
from bakeoff.serving.models import Lease
from bakeoff.serving.packed import BodyRefused
from bakeoff.serving.problems import Problem, Refusal
from bakeoff.serving.routes import about, embeddings, llamacpp, ollama, openai, tasks, tgi, tokens
from bakeoff.serving.wording import worded

_ROUTES = (about, openai, embeddings, tokens, tasks, llamacpp, ollama, tgi)
_GONE = 499
_PROBES = ("/health", "/metrics")
"""Asked every few seconds by machines: no line in the log."""


def create_app(desk: Desk) -> ASGIApp:
    """The application over these models; the server loads and closes them."""
    app = FastAPI(
        title="bakeoff serve",
        version=__version__,
        docs_url=None,  # its page would be fetched from another machine
        redoc_url=None,
    )
    app.state.desk = desk
    for routes in _ROUTES:
        app.include_router(routes.router)
    for kind in (BakeoffError, Refusal, ClientGone, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer)
    return _Account(Guard(_Faults(app), desk.options), desk)


async def _answer(request: Request, error: Exception) -> Response:
    """The response for anything that a route raised on purpose."""
    if isinstance(error, ClientGone):
        request.scope["bakeoff.left"] = True
        return Response(status_code=_GONE)
    return worded(request.url.path, _problem(error))


def _problem(error: Exception) -> Problem:
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, HTTPException):
        if isinstance(error.__cause__, BodyRefused):
            return error.__cause__.problem
        if error.status_code in (404, 405):
            text = "there is no such route; GET /openapi.json lists them"
            return Problem(error.status_code, text, "not_found")
        return Problem(error.status_code, str(error.detail), "invalid_request")
    return told(error)


def _invalid(error: RequestValidationError) -> Problem:
    """The first thing that is wrong with a body, by the name of its field."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"][1:] if not _is_branch(part)]
    if first["type"] == "json_invalid":
        return Problem(400, "the body is no JSON object", "invalid_request")
    field = printable(".".join(place), 100)
    said = printable(str(first["msg"]).removeprefix("Value error, "), 300)
    text = f"{field}: {said[:1].lower()}{said[1:]}" if field else f"the body: {said}"
    return Problem(400, text, "invalid_request", field or None)


def _is_branch(part: Any) -> bool:
    """Pydantic names the member of a union it tried; a client knows no such field."""
    return isinstance(part, str) and (part in ("str", "int", "float") or "[" in part)


class _Faults:
    """Turns what nobody expected into a plain 500, logged without its message."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            problem = told(error)
            if started:
                raise
            await worded(scope["path"], problem)(scope, receive, send)


class _Account:
    """One line in the log and one count for each request; the outermost layer.

    Lets go of the models that the request held.
    """

    def __init__(self, app: ASGIApp, desk: Desk) -> None:
        self._app = app
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        leases: list[Lease] = scope.setdefault("bakeoff.leases", [])

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            for lease in leases:
                lease.release()
            self._close(scope, status, time.perf_counter() - began)

    def _close(self, scope: Scope, status: int, seconds: float) -> None:
        if scope.get("bakeoff.left"):
            status = _GONE
            self._desk.measures.left()
        route = getattr(scope.get("route"), "path", "other")
        self._desk.measures.answered(route, status, seconds)
        if route in _PROBES:
            return
        LOG.info(
            "%s %s %d %.3f s %s",
            scope["method"], printable(scope["path"]), status, seconds, scope.get("bakeoff.id"),
        )  # fmt: skip
