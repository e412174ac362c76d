"""`Guard`: who may speak to the server, before a route sees anything of a request.

A web page in a browser must not reach a server on the same machine: a foreign `Origin` is
refused, so is a `Host` that only a rebound name could have sent, and a body in a form that pages
may send without asking first.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bakeoff.serving.log import printable
from bakeoff.serving.options import ServeOptions, is_loopback
from bakeoff.serving.packed import CODINGS, bounded, too_large, unpacked
from bakeoff.serving.problems import Problem
from bakeoff.serving.wording import worded

OPEN = ("/health",)
"""Paths that ask for no key."""
_METHODS = "GET, POST, OPTIONS"
_ALLOWED_HEADERS = "authorization, content-encoding, content-type, api-key, x-api-key, x-request-id"
_EXPOSED = "x-request-id, x-bakeoff-ignored, retry-after"


class Guard:
    """ASGI middleware; the outermost but for the log."""

    def __init__(self, app: ASGIApp, options: ServeOptions) -> None:
        """`options` say who is let in."""
        self._app = app
        self._options = options
        self._keys = tuple(key.encode() for key in options.keys)
        self._salt = secrets.token_bytes(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the body bounded."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        scope["bakeoff.id"] = _request_id(headers)
        answer = self._answering(scope, headers, send)
        if scope["method"] == "OPTIONS":
            await self._preflight(scope, headers, receive, answer)
            return
        problem = self._problem(scope, headers)
        if problem is not None:
            await worded(scope["path"], problem)(scope, receive, answer)
            return
        scope["bakeoff.cache"] = self._cache_scope(headers)
        limit, coding = self._options.limits.body_bytes, _coding(headers)
        body = bounded(receive, limit)
        if scope["method"] == "POST" and coding in CODINGS:
            body = unpacked(body, coding, limit)
        await self._app(scope, body, answer)

    def _problem(self, scope: Scope, headers: Headers) -> Problem | None:
        """Why the request is refused, or None."""
        return (
            self._host(scope, headers)
            or self._origin(headers)
            or self._key(scope, headers)
            or self._body(scope, headers)
        )

    def _host(self, scope: Scope, headers: Headers) -> Problem | None:
        name = _host_name(headers.get("host", ""))
        own = (scope.get("server") or ("",))[0]
        known = {self._options.host, own, *self._options.hosts}
        if is_loopback(name) or name in known:
            return None
        text = f"host {printable(name)!r} is not known here: name it by --allowed-host"
        return Problem(403, text, "host_not_allowed")

    def _origin(self, headers: Headers) -> Problem | None:
        origin = headers.get("origin")
        if origin is None or self._lets_in(origin, headers):
            return None
        text = f"origin {printable(origin)!r} is not let in: name it by --cors-origin"
        return Problem(403, text, "origin_not_allowed")

    def _lets_in(self, origin: str, headers: Headers) -> bool:
        same = origin.partition("://")[2] == headers.get("host") and "://" in origin
        return same or origin in self._options.origins or "*" in self._options.origins

    def _key(self, scope: Scope, headers: Headers) -> Problem | None:
        if not self._keys or scope["path"] in OPEN:
            return None
        said = _said_key(headers).encode()
        # every key is compared, so that the time does not tell which was close
        matches = [hmac.compare_digest(said, key) for key in self._keys]
        if any(matches):
            return None
        text = "the API key is missing or wrong: send it as Authorization: Bearer KEY"
        return Problem(401, text, "invalid_api_key")

    def _cache_scope(self, headers: Headers) -> str:
        """Whose computed prompts this request may find: those of its own key, which is not told."""
        if not self._keys or self._options.share_cache:
            return ""
        said = _said_key(headers).encode()
        return hashlib.blake2b(said, key=self._salt, digest_size=16).hexdigest()

    def _body(self, scope: Scope, headers: Headers) -> Problem | None:
        if scope["method"] != "POST":
            return None
        media = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media != "application/json":
            text = f"content type {printable(media)!r}: send application/json"
            return Problem(415, text, "unsupported_media_type")
        coding = _coding(headers)
        if coding not in ("", "identity", *CODINGS):
            text = f"content encoding {printable(coding)!r}: send gzip, deflate, or the plain body"
            return Problem(415, text, "unsupported_media_type")
        limit, length = self._options.limits.body_bytes, headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > limit:
            return too_large(limit)
        return None

    def _answering(self, scope: Scope, headers: Headers, send: Send) -> Send:
        """Adds what every response carries."""
        origin = headers.get("origin")
        shown = origin if origin is not None and self._lets_in(origin, headers) else None

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = MutableHeaders(scope=message)
                added["x-request-id"] = scope["bakeoff.id"]
                added["x-content-type-options"] = "nosniff"
                if shown is not None:
                    added["access-control-allow-origin"] = shown
                    added["access-control-expose-headers"] = _EXPOSED
                    added.add_vary_header("origin")
            await send(message)

        return answer

    async def _preflight(
        self, scope: Scope, headers: Headers, receive: Receive, answer: Send
    ) -> None:
        problem = self._host(scope, headers) or self._origin(headers)
        if problem is not None:
            await worded(scope["path"], problem)(scope, receive, answer)
            return
        allowed = {
            "access-control-allow-methods": _METHODS,
            "access-control-allow-headers": _ALLOWED_HEADERS,
            "access-control-max-age": "600",
        }
        await answer({"type": "http.response.start", "status": 204, "headers": _raw(allowed)})
        await answer({"type": "http.response.body", "body": b""})


def _coding(headers: Headers) -> str:
    return headers.get("content-encoding", "identity").strip().lower()


def _request_id(headers: Headers) -> str:
    said = headers.get("x-request-id", "")
    fits = 0 < len(said) <= 128 and said.isascii() and said.isprintable()
    return said if fits else uuid.uuid4().hex


def _host_name(host: str) -> str:
    """The name without its port, in lower case; an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower().rstrip(".")


def _said_key(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("api-key") or headers.get("x-api-key") or ""


def _raw(headers: Mapping[str, str]) -> list[Any]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
