"""`Hub`: what a test holds in its hands."""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Unpack
from urllib.parse import unquote

from tests.hub.catalog import Catalog, HubError, Query, Reply
from tests.hub.repos import Kind, Repo, RepoOptions, build
from tests.hub.routes import answer
from tests.hub.server import Fetch, Request, Server

# Everything a Hub client reads from the environment; a test hub's process starts without them.
CLIENT_PREFIXES = ("HF_", "HUGGINGFACE_", "HUGGING_FACE_", "TRANSFORMERS_", "PYTORCH_TRANSFORMERS_")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def is_client_setting(name: str) -> bool:
    """Whether an environment variable would steer a Hub client, or lead it through a proxy."""
    return name.startswith(CLIENT_PREFIXES) or name in PROXIES


class Hub:
    """A Hugging Face Hub on 127.0.0.1 and a port of its own.

    `home` becomes the client's HF_HOME (default: a temporary folder, removed at the end): one home
    is one cache, so two subprocesses with the same `env()` share what they downloaded.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if home is None:
            self._temporary = tempfile.TemporaryDirectory()
            home = Path(self._temporary.name)
        self.home = home
        self.catalog = Catalog()
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        self._status: int | None = None
        self._server: Server | None = Server(0, self._answer, self._record)
        self.port: int = self._server.server_address[1]

    def __enter__(self) -> "Hub":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None
        if self._temporary is not None:
            self._temporary.cleanup()

    # -- what it holds

    def add_model(
        self, repo_id: str, folder: Path | None = None, **options: Unpack[RepoOptions]
    ) -> Repo:
        """Serve a folder as a model; adding an id again is a push: branches move to new commits."""
        return self._add("model", repo_id, folder, options)

    def add_dataset(
        self, repo_id: str, folder: Path | None = None, **options: Unpack[RepoOptions]
    ) -> Repo:
        """Serve a folder as a data set."""
        return self._add("dataset", repo_id, folder, options)

    def _add(self, kind: Kind, repo_id: str, folder: Path | None, options: RepoOptions) -> Repo:
        repo = build(repo_id, kind, folder, options)
        self.catalog.repos[kind, repo_id] = repo
        return repo

    def add_token(self, token: str, *, access: bool) -> None:
        """Make a token valid; with `access` it may read gated and private repositories."""
        self.catalog.tokens[token] = access

    def commit(self, repo_id: str, revision: str = "main", kind: Kind = "model") -> str:
        """The 40 hex digits of the commit behind a revision."""
        snapshot = self.catalog.repos[kind, repo_id].resolve(revision)
        if snapshot is None:
            raise KeyError(f"{repo_id!r} has no revision {revision!r}")
        return snapshot.commit

    # -- how a client finds it

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settings(self) -> dict[str, str]:
        """The environment variables that lead a client here."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(self.home),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_UPDATE_CHECK": "1",
            "NO_PROXY": "*",
            "no_proxy": "*",
        }

    def env(self, **more: str) -> dict[str, str]:
        """A whole environment for a subprocess, e.g. env(HF_TOKEN=..., HF_HUB_OFFLINE="1")."""
        kept = {name: text for name, text in os.environ.items() if not is_client_setting(name)}
        return {**kept, **self.settings(), **more}

    def python(self, script: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a script in a fresh interpreter whose clients talk to this hub; `more`: see `env`."""
        return subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script, *arguments],
            env=self.env(**more),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    # -- what happened

    @property
    def requests(self) -> list[Request]:
        """Every request since the start or `forget_requests`, in order of arrival."""
        with self._lock:
            return list(self._requests)

    def fetches(self, repo_id: str, kind: Kind = "model") -> list[Fetch]:
        """The requests for files of a repository: what reached config, tokenizer and weights.

        Listings are left out: transformers 5.24 lists a tokenizer's repository without the token.
        """
        start = f"/{'datasets/' if kind == 'dataset' else ''}{repo_id}/resolve/"
        found = []
        for request in self.requests:
            if request.path.startswith(start):
                revision, _, file = request.path.removeprefix(start).partition("/")
                token = (request.authorization or "").removeprefix("Bearer ") or None
                names = (unquote(file.partition("?")[0]), unquote(revision))
                found.append(Fetch(request.method, *names, token, request.status))
        return found

    def forget_requests(self) -> None:
        with self._lock:
            self._requests.clear()

    # -- trouble

    def go_offline(self, status: int | None = None) -> None:
        """Refuse connections and cut the open ones; with a status (503), answer only with that."""
        self._status = status
        if status is None and self._server is not None:
            self._server.stop()
            self._server = None

    def go_online(self) -> None:
        """Be there again, at the same address."""
        self._status = None
        if self._server is None:
            self._server = Server(self.port, self._answer, self._record)

    def _answer(self, query: Query) -> Reply:
        if self._status is not None:
            return HubError(self._status, None, "The hub is out of order.").reply
        return answer(self.catalog, query)

    def _record(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)
