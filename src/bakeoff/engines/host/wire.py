"""Frames on the socket between a client and a host: a length, then a JSON value.

A frame is `[kind, call, body]`. The client numbers its calls; many run at a time.

| from | kind | body |
|---|---|---|
| client | `hello` | `{token, version}`, before anything else; call 0 |
| client | `call` | `[method, arguments]` |
| client | `requests` | further requests of a call that takes them one by one |
| client | `end` | there are no more of them |
| client | `more` | how many further results the client has room for |
| client | `cancel` | nobody waits for the rest |
| host | `want` | how many further requests the engine has room for |
| host | `items` | further results of a call that gives them one by one |
| host | `done` | the result; of a call that gives items, their end |
| host | `error` | what went wrong; ends the call |
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from bakeoff.core.errors import InvalidRequest

WINDOW = 256
"""Results on their way that nobody has read yet, and requests that are read ahead at first: as
many as an engine sorts by length at a time."""
MORE = 64
"""Room is told in portions: of requests once the first were taken, and of results."""
TOKEN_BYTES = 32

_LENGTH = struct.Struct(">I")
_LARGEST = 2**30
"""Bytes of a frame; whoever announces more speaks something else."""


class BadFrame(Exception):
    """What came is no frame."""


class Frame(NamedTuple):
    """See the module's docstring."""

    kind: str
    call: int
    body: Any = None


def packed(frame: Frame) -> bytes:
    """A frame as it goes over the socket.

    Raises:
        InvalidRequest: it is too large, or holds what JSON does not know.
    """
    try:
        text = json.dumps(frame, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError) as problem:
        raise InvalidRequest(f"a value cannot be sent: {problem}") from problem
    if len(text) > _LARGEST:
        raise InvalidRequest(f"{len(text)} bytes are too many for one request or result")
    return _LENGTH.pack(len(text)) + text


class Unpacker:
    """Cuts what comes over a socket into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def frames(self, data: bytes) -> Iterator[Frame]:
        """The frames that are complete with this data.

        Raises:
            BadFrame: it is no frame.
        """
        self._rest += data
        begin = 0
        while len(self._rest) - begin >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._rest, begin)
            if length > _LARGEST:
                raise BadFrame(f"a frame of {length} bytes is too large")
            end = begin + _LENGTH.size + length
            if len(self._rest) < end:
                break
            yield _frame(bytes(self._rest[begin + _LENGTH.size : end]))
            begin = end
        del self._rest[:begin]


def _frame(text: bytes) -> Frame:
    try:
        kind, call, body = json.loads(text)
    except ValueError as problem:
        raise BadFrame(f"what came is no frame: {text[:40]!r}") from problem
    if not isinstance(kind, str) or not isinstance(call, int):
        raise BadFrame(f"what came is no frame: {text[:40]!r}")
    return Frame(kind, call, body)
