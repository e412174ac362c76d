"""`run`: the application under uvicorn, from loading the models to the last answer."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn

from bakeoff.core.errors import InvalidRequest
from bakeoff.serving.app import create_app
from bakeoff.serving.desk import Desk
from bakeoff.serving.options import ServeOptions

_BACKLOG = 2048
_KEEP_ALIVE = 75
_LAST = 5
"""Seconds that cut requests get to tell so."""

Ready = Callable[[str], None]
"""Told the server's address once the models are loaded."""


async def run(desk: Desk, ready: Ready) -> None:
    """Serve until SIGINT or SIGTERM; running requests then get `options.drain` seconds.

    The port is bound first, so that `/health` answers while models load. Outside the main thread
    no signal is heard: there, cancelling this ends the server.

    Raises:
        ModelError: a model cannot be loaded.
        InvalidRequest: the address cannot be bound.
    """
    bound = _bind(desk.options)
    server = _Server(desk)
    serving = asyncio.create_task(server.serve([bound]))
    loading = asyncio.create_task(desk.models.load())
    behind = [asyncio.create_task(desk.models.keeper.tend())]
    try:
        await asyncio.wait({serving, loading}, return_when=asyncio.FIRST_COMPLETED)
        if loading.done():
            loading.result()
            ready(_address(bound))
            behind.append(asyncio.create_task(desk.checkup.run(desk.models)))
        await serving
    finally:
        server.should_exit = True
        loading.cancel()
        for task in behind:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await serving
        await asyncio.gather(*behind, return_exceptions=True)
        bound.close()
        await desk.models.close()


def _bind(options: ServeOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # named as TCP, so that asyncio switches Nagle's algorithm off: it costs 40 ms an answer
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((options.host.strip("[]"), options.port))
        bound.listen(_BACKLOG)
    except OSError as problem:
        bound.close()
        raise InvalidRequest(
            f"cannot listen on {options.host} port {options.port}: {problem.strerror or problem}; "
            "choose another --port"
        ) from problem
    return bound


def _address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class _Server(uvicorn.Server):
    """Uvicorn, which stops taking requests at the first signal and cuts them at the second."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(
            uvicorn.Config(
                create_app(desk),
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=int(desk.options.drain) + _LAST,
            )
        )
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        self._desk = desk
        self._drain = desk.options.drain
        self._cutting: asyncio.TimerHandle | None = None

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals stop this server alone; uvicorn would raise them again once it has stopped."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals go to the main thread alone; whoever runs this cancels `serve`
            return
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.getsignal(number) for number in numbers}
        try:
            for number in numbers:
                loop.add_signal_handler(number, self._stop)
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def _stop(self) -> None:
        self.should_exit = True
        self._desk.stopping = True
        if self._cutting is None:
            loop = asyncio.get_running_loop()
            self._cutting = loop.call_later(self._drain, self._desk.cut)
        else:
            self._cutting.cancel()
            self._desk.cut()
