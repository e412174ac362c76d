"""The sockets of the test hub: HTTP/1.1, ranges, slow and broken-off bodies, going away."""

import re
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.hub.catalog import HubError, Query, Reply
from tests.hub.repos import File, Repo

CHUNK = 256 * 1024


@dataclass(frozen=True)
class Request:
    """One request as it came: path with its query, headers or None, the status it was given."""

    method: str
    path: str
    authorization: str | None
    user_agent: str | None
    range: str | None
    status: int


@dataclass(frozen=True)
class Fetch:
    """A request for one file of one repository; `revision` as the client asked, mostly a commit."""

    method: str
    file: str
    revision: str
    token: str | None
    status: int


class Server(ThreadingHTTPServer):
    """Listens on 127.0.0.1; `stop` also cuts the connections that clients keep open."""

    daemon_threads = True

    def __init__(
        self, port: int, answer: Callable[[Query], Reply], record: Callable[[Request], None]
    ) -> None:
        self.answer = answer
        self.record = record
        self.stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)
        self._loop = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._loop.start()

    def stop(self) -> None:
        self.stopping.set()
        self.shutdown()
        self._loop.join()
        with self._open_lock:
            for connection in self._open:
                _cut(connection)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that leaves in the middle, or is cut off by `stop`, is nobody's fault.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # the client was faster
        return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: tests read `Hub.requests`."""

    def _serve(self) -> None:
        url = urlsplit(self.path)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ").strip() or None
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self.server.answer(Query(self.command, url.path, parse_qs(url.query), token, body))
        wanted = self.headers.get("Range")
        span = None
        if reply.file is not None and wanted is not None:
            span = _span(wanted, reply.file.size)
            if span is None:
                reply = HubError(416, None, f"Range {wanted} not satisfiable").reply
        status = 206 if span is not None else reply.status
        agent, given = self.headers.get("User-Agent"), self.headers.get("Authorization")
        self.server.record(Request(self.command, self.path, given, agent, wanted, status))
        self._send(reply, status, span)

    def _send(self, reply: Reply, status: int, span: tuple[int, int] | None) -> None:
        size = reply.file.size if reply.file is not None else len(reply.body)
        first, last = span if span is not None else (0, size - 1)
        self.send_response(status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(last - first + 1))
        if span is not None:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.end_headers()
        if self.command == "HEAD":
            return
        if reply.file is not None and reply.repo is not None:
            self._send_file(reply.file, reply.repo, first, last)
        else:
            self.wfile.write(reply.body)

    def _send_file(self, file: File, repo: Repo, first: int, last: int) -> None:
        stop = repo.take_interruption(last - first + 1)
        end = last if stop is None else first + stop - 1
        step = CHUNK if repo.slow is None else max(1, int(repo.slow / 20))
        for start in range(first, end + 1, step):
            chunk = file.content(start, min(start + step - 1, end))
            if repo.slow is not None and self.server.stopping.wait(len(chunk) / repo.slow):
                end = start - 1
                break
            self.wfile.write(chunk)
        if end < last:
            self.close_connection = True  # the client sees the body end too early, and may resume


def _span(header: str, size: int) -> tuple[int, int] | None:
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", header.strip())
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if first == "":
        return max(0, size - int(last)), size - 1
    if int(first) >= size:
        return None
    return int(first), min(int(last), size - 1) if last else size - 1
