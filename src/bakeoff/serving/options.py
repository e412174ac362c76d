"""`ServeOptions`: how a server listens, whom it lets in, and how much it takes at once."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from bakeoff.core.errors import InvalidRequest
from bakeoff.serving.limits import Limits


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What the operator decides.

    Attributes:
        host, port: where it listens; port 0 takes a free one.
        keys: any of these opens every route; without any, no key is asked for.
        no_auth: the operator said that no key is wanted.
        origins: web pages whose requests are let in, as `https://host[:port]`; `*` is all.
        hosts: further names that the `Host` header may have.
        running: most requests that are handed to one model's engine at a time.
        queue: most requests that wait for that, at each model.
        deadline: seconds after which a request fails, or None.
        drain: seconds that running requests get when the server is told to stop.
        log_prompts: whether prompts stand in the log.
        share_cache: whether a prompt may be found in what was computed for another key's.
        limits: of one request.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    keys: tuple[str, ...] = ()
    no_auth: bool = False
    origins: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    running: int = 64
    queue: int = 512
    deadline: float | None = 600.0
    drain: float = 30.0
    log_prompts: bool = False
    share_cache: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not self.keys and not self.no_auth and not is_loopback(self.host):
            raise InvalidRequest(
                f"--host {self.host}: other machines can reach it, so give --api-key or "
                "--api-key-file, or say --no-auth"
            )
        if self.keys and self.no_auth:
            raise InvalidRequest("--no-auth and a key exclude each other: keep one")
        if any(not key.isascii() or not key.strip() for key in self.keys):
            raise InvalidRequest("an API key has to be ASCII and must not be blank")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
