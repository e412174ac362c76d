"""`unpacked`: compressed bodies are unpacked as they come, up to the limit and no further."""

from __future__ import annotations

import zlib
from collections.abc import Callable

from starlette.types import Message, Receive

from bakeoff.serving.problems import Problem

_GZIP = zlib.MAX_WBITS | 16
CODINGS = ("gzip", "x-gzip", "deflate")
"""What `Content-Encoding` may say."""


class BodyRefused(Exception):
    """A body that is not read to its end; the app's handler tells the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


def bounded(receive: Receive, limit: int) -> Receive:
    """The same body, refused with `BodyRefused` as soon as more than `limit` bytes have come."""
    read = 0

    async def receiving() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > limit:
            raise BodyRefused(too_large(limit))
        return message

    return receiving


def unpacked(receive: Receive, coding: str, limit: int) -> Receive:
    """The body without its compression; never more than `limit` bytes of it are made.

    Args:
        receive: gives the compressed body.
        coding: one of `CODINGS`.
        limit: most bytes.
    """
    packed = _Packed(coding, limit)

    async def receiving() -> Message:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body = packed.more(message.get("body", b""))
        if not message.get("more_body", False):
            packed.end()
        return {**message, "body": body}

    return receiving


def too_large(limit: int, unpacked: bool = False) -> Problem:
    """The problem of a body above its limit."""
    what = "the unpacked body" if unpacked else "the body"
    return Problem(400, f"{what} is larger than {limit} bytes: send less", "body_too_large")


class _Packed:
    """One compressed body on its way."""

    def __init__(self, coding: str, limit: int) -> None:
        self._coding = coding
        self._limit = limit
        self._made = 0
        self._held = b""
        self._stream: zlib._Decompress | None = None

    def more(self, data: bytes) -> bytes:
        """What these bytes hold."""
        if self._stream is None:
            self._held += data
            if len(self._held) < 2:  # deflate is told by its first two bytes
                return b""
            data, self._stream = self._held, _opened(self._coding, self._held)
        made = self._tried(lambda stream: stream.decompress(data, self._limit - self._made + 1))
        self._made += len(made)
        if self._made > self._limit:
            raise BodyRefused(too_large(self._limit, unpacked=True))
        if self._stream.unused_data:
            raise self._broken("something stands behind its end")
        return made

    def end(self) -> None:
        """Nothing more comes."""
        if self._stream is None or not self._stream.eof:
            raise self._broken("it ends too early")

    def _tried(self, step: Callable[[zlib._Decompress], bytes]) -> bytes:
        assert self._stream is not None
        try:
            return step(self._stream)
        except zlib.error as error:
            raise self._broken("it is damaged") from error

    def _broken(self, why: str) -> BodyRefused:
        text = f"the body is no {self._coding} as content-encoding says: {why}"
        return BodyRefused(Problem(400, text, "invalid_request"))


def _opened(coding: str, head: bytes) -> zlib._Decompress:
    """Deflate means zlib's format; some clients leave its head away."""
    if coding != "deflate":
        return zlib.decompressobj(_GZIP)
    headed = head[0] & 0x0F == zlib.DEFLATED and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.decompressobj(zlib.MAX_WBITS if headed else -zlib.MAX_WBITS)
