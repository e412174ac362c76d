"""One server for all tests of a session that need nothing of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving.serverthread import Server, fake

FAKES = {
    "echo": "fake://echo",
    "words": "fake://words",
    "failing": "fake://echo?fail_text=BOOM",
    "short": "fake://echo?context=40",
    "fim": "fake://echo?fim=1",
    "seq": "fake://upper?kind=seq2seq",
    "encoder": "fake://echo?kind=encoder",
    "nochat": "fake://echo?chat=0",
}


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    running = Server([fake(text, name) for name, text in FAKES.items()])
    yield running
    running.close()


@pytest.fixture
def opened() -> Iterator:
    """Opens servers that are closed when the test is over."""
    found: list[Server] = []

    def open_server(*entries, **options) -> Server:
        found.append(Server(entries, **options))
        return found[-1]

    yield open_server
    for one in found:
        one.close()
