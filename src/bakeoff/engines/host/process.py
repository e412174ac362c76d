"""`HostProcess`: a host that this process started, and how it ends."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.engines.host.wire import TOKEN_BYTES

READY_WITHIN = 60.0
"""Seconds that a new process gets until it listens; nothing heavy is loaded until then."""
_END_WITHIN = 5.0
_KNOWN_WITHIN = 0.5
_PATH = 100
"""Bytes of a socket's path; systems take little more."""


@dataclass(frozen=True)
class HostProcess:
    """A running host.

    Attributes:
        process: as the system knows it.
        connection: the socket to it.
        token: what it asks of clients.
    """

    process: subprocess.Popen[bytes]
    connection: socket.socket
    token: str

    def ending(self) -> str:
        """How it ended, for a message; waits until the system knows."""
        try:
            status = self.process.wait(_KNOWN_WITHIN)
        except subprocess.TimeoutExpired:
            return "it closed its connection"
        if status >= 0:
            return f"it ended with status {status}"
        name = signal.Signals(-status).name
        return f"{name} ended it" + (
            ", as happens where memory runs out" if name == "SIGKILL" else ""
        )

    def stop(self) -> None:
        """End it, by force where it does not end by itself; may be called twice."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()
        _end(self.process, _END_WITHIN)


def start(*, unix: bool = hasattr(socket, "AF_UNIX"), within: float = READY_WITHIN) -> HostProcess:
    """Start a host and connect to it; blocks until it listens, for `within` seconds at most.

    Its environment is that of this process, and its log goes to this process's standard error.
    Where `unix` is false, it listens on the loopback interface instead of a Unix socket.

    Raises:
        ModelLoadFailed: it did not come up.
    """
    token = secrets.token_hex(TOKEN_BYTES)
    folder = Path(tempfile.mkdtemp(prefix="bakeoff-host-"))  # nobody else may look into it
    try:
        path = folder / "s"
        at = path if unix and len(os.fsencode(path)) < _PATH else None
        process = _started(at)
        try:
            address = _ready(process, token, within)
            return HostProcess(process, _connected(at, address), token)
        except BaseException:
            _end(process, 0.0)
            raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(at: Path | None) -> subprocess.Popen[bytes]:
    where = [] if at is None else ["--socket", str(at)]
    return subprocess.Popen(
        # -P: a module in the working folder must not pose as one of ours
        [sys.executable, "-P", "-m", f"{__package__}", *where, "--parent", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _ready(process: subprocess.Popen[bytes], token: str, within: float) -> str:
    """Tell it the token, and hear where it listens."""
    assert process.stdin is not None and process.stdout is not None
    late = threading.Timer(within, process.kill)
    late.start()
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(f"{token}\n".encode())
            process.stdin.flush()
        line = process.stdout.readline().decode().strip()
        process.stdout.close()
        over = late.finished.is_set()
    finally:
        late.cancel()
    if line:
        return line
    status = process.wait()
    why = f"did not come up within {within:g} s" if over else f"ended with status {status}"
    raise ModelLoadFailed(f"the process that is to run the model {why}: its log says more")


def _connected(at: Path | None, address: str) -> socket.socket:
    if at is None:
        made = socket.create_connection(("127.0.0.1", int(address)))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    made = socket.socket(socket.AF_UNIX)
    try:
        made.connect(str(at))
    except OSError:
        made.close()
        raise
    return made


def _end(process: subprocess.Popen[bytes], within: float) -> None:
    """Close the lifeline; kill what is still there when the time is over."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        process.wait(within)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
