"""Queries, replies and errors of the test hub, and who may read what."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.hub.repos import File, Kind, Repo

VALID_TOKEN = "hf_testtoken"  # pragma: allowlist secret
NO_ACCESS_TOKEN = "hf_noaccess"  # pragma: allowlist secret


@dataclass(frozen=True)
class Query:
    """A request: `path` still percent-encoded, `token` without the word Bearer."""

    method: str
    path: str
    parameters: Mapping[str, list[str]]
    token: str | None
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """A response; `file` is sent instead of `body` when it is there."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    file: File | None = None
    repo: Repo | None = None


class HubError(Exception):
    """An answer that is an error, in the words the client recognises."""

    def __init__(
        self, status: int, code: str | None, message: str, commit: str | None = None
    ) -> None:
        super().__init__(message)
        headers = {"X-Error-Message": message, "Content-Type": "application/json"}
        if code is not None:
            headers["X-Error-Code"] = code
        if commit is not None:  # the client remembers for this commit that the file is absent
            headers["X-Repo-Commit"] = commit
        self.reply = Reply(status, headers, json.dumps({"error": message}).encode())


@dataclass
class Catalog:
    """Everything the hub knows: repositories by kind and id, tokens and whether they have access.

    `gated_without_token` is the status of a gated file asked for without a token. The error code is
    GatedRepo in each case; huggingface.co answers 401 here and 403 to a token without access.
    """

    repos: dict[tuple[Kind, str], Repo] = field(default_factory=dict)
    tokens: dict[str, bool] = field(
        default_factory=lambda: {VALID_TOKEN: True, NO_ACCESS_TOKEN: False}
    )
    gated_without_token: int = 401

    def has_access(self, token: str | None) -> bool:
        return token is not None and self.tokens.get(token, False)

    def repo(self, kind: Kind, repo_id: str, token: str | None) -> Repo:
        repo = self.repos.get((kind, repo_id))
        if repo is None or (repo.private and not self.has_access(token)):
            if token is None:
                raise HubError(401, "RepoNotFound", "Invalid username or password.")
            raise HubError(404, "RepoNotFound", "Repository not found")
        return repo

    def check_gate(self, repo: Repo, token: str | None) -> None:
        if not repo.gated or self.has_access(token):
            return
        start = f"Access to {repo.kind} {repo.id} is restricted"
        if token is None:
            message = f"{start}. You must be authenticated and have access to it. Please log in."
            raise HubError(self.gated_without_token, "GatedRepo", message)
        raise HubError(403, "GatedRepo", f"{start} and you are not in the authorized list.")
