"""No test reaches another machine: connections and look-ups of names stay on this one."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import pytest


class NetworkBlocked(RuntimeError):
    """A test tried to reach another machine."""


class Guard:
    """Replaces the functions of `socket` that reach out; keeps what was tried.

    An attempt raises, and it also fails the test afterwards, for the case that the code under
    test swallows the error.
    """

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self._patch = pytest.MonkeyPatch()

    def install(self) -> None:
        """Begin to block."""
        for name in ("connect", "connect_ex"):
            self._patch.setattr(socket.socket, name, self._method(name, last=False))
        self._patch.setattr(socket.socket, "sendto", self._method("sendto", last=True))
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
            self._patch.setattr(socket, name, self._lookup(name))

    def remove(self) -> None:
        """Let everything through again."""
        self._patch.undo()

    def take(self) -> list[str]:
        """What was tried since the last call."""
        attempts, self.attempts = self.attempts, []
        return attempts

    def _method(self, name: str, *, last: bool) -> Callable[..., Any]:
        original = getattr(socket.socket, name)

        def guarded(sock: socket.socket, *args: Any) -> Any:
            if sock.family != socket.AF_UNIX and args:
                self._check(name, args[-1 if last else 0])
            return original(sock, *args)

        return guarded

    def _lookup(self, name: str) -> Callable[..., Any]:
        original = getattr(socket, name)

        def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
            self._check(name, (host,))
            return original(host, *args, **kwargs)

        return guarded

    def _check(self, what: str, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else address
        if not is_here(host):
            self.attempts.append(f"{what}({host!r})")
            raise NetworkBlocked(f"{what}({host!r}): tests reach this machine only")


def is_here(host: Any) -> bool:
    """Whether that name or address means this machine."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost", "0.0.0.0", "::"):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False
