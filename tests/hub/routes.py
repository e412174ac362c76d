"""The Hub's routes as a pure function: a query against a catalog gives a reply.

Checked against huggingface_hub 2.4, transformers 5.24 and datasets 5.2. No header names Xet, so the
clients download over plain HTTP even where hf_xet is installed.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.hub.catalog import Catalog, HubError, Query, Reply
from tests.hub.repos import File, Kind, Repo, Snapshot

DATE = "2024-01-01T00:00:00.000Z"
KINDS: Mapping[str, Kind] = {"models": "model", "datasets": "dataset"}


def answer(catalog: Catalog, query: Query) -> Reply:
    """The Hub's reply to a query; never raises for anything a client can send."""
    try:
        if query.token is not None and query.token not in catalog.tokens:
            raise HubError(401, None, "Invalid credentials in Authorization header")
        segments = query.path.strip("/").split("/")
        if segments[0] == "api":
            return _api(catalog, query, segments[1:])
        return _resolve(catalog, query, segments)
    except HubError as error:
        return error.reply


def _json(value: Any, headers: Mapping[str, str] | None = None) -> Reply:
    fixed = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
    return Reply(200, fixed, json.dumps(value).encode())


def _no_route() -> HubError:
    return HubError(404, None, "Sorry, we can't find the page you are looking for.")


def _snapshot(repo: Repo, revision: str) -> Snapshot:
    snapshot = repo.resolve(unquote(revision))
    if snapshot is None:
        raise HubError(404, "RevisionNotFound", f"Invalid rev id: {unquote(revision)}")
    return snapshot


def _resolve(catalog: Catalog, query: Query, segments: list[str]) -> Reply:
    kind: Kind = "model"
    if segments[0] in KINDS:
        kind, segments = KINDS[segments[0]], segments[1:]
    at = next((n for n in (1, 2) if segments[n : n + 1] == ["resolve"]), None)
    if at is None or len(segments) < at + 3 or query.method == "POST":
        raise _no_route()
    repo = catalog.repo(kind, "/".join(segments[:at]), query.token)
    catalog.check_gate(repo, query.token)
    snapshot = _snapshot(repo, segments[at + 1])
    file = snapshot.files.get(unquote("/".join(segments[at + 2 :])))
    if file is None:
        raise HubError(404, "EntryNotFound", "Entry not found", snapshot.commit)
    headers = {
        "ETag": f'"{file.etag}"',
        "X-Repo-Commit": snapshot.commit,
        "Accept-Ranges": "bytes",
        "Content-Type": "application/octet-stream" if file.lfs else "text/plain; charset=utf-8",
        "Content-Disposition": f'inline; filename="{file.path.rsplit("/", 1)[-1]}";',
    }
    if file.lfs:
        headers |= {"X-Linked-Etag": f'"{file.sha256}"', "X-Linked-Size": str(file.size)}
    return Reply(200, headers, file=file, repo=repo)


def _api(catalog: Catalog, query: Query, segments: list[str]) -> Reply:
    match segments:
        case ["whoami-v2"]:
            return _whoami(query)
        case ["telemetry", *_]:
            return Reply(200)
        case ["models" | "datasets" as plural]:
            return _search(catalog, query, KINDS[plural])
        case ["models" | "datasets" as plural, *rest]:
            return _repo_api(catalog, query, KINDS[plural], rest)
    raise _no_route()


def _whoami(query: Query) -> Reply:
    if query.token is None:
        raise HubError(401, None, "Invalid username or password.")
    token = {"displayName": "test", "role": "read", "createdAt": DATE}
    auth = {"type": "access_token", "accessToken": token}
    return _json({"type": "user", "id": "1", "name": "tester", "orgs": [], "auth": auth})


def _search(catalog: Catalog, query: Query, kind: Kind) -> Reply:
    """Like the Hub: each word must occur in the id, whatever the case; no spelling is guessed."""
    words = query.parameters.get("search", [""])[0].lower().split()
    author = query.parameters.get("author", [""])[0]
    limit = int(query.parameters.get("limit", ["1000"])[0])
    found = [
        repo
        for (of, repo_id), repo in sorted(catalog.repos.items())
        if of == kind
        and (not repo.private or catalog.has_access(query.token))
        and all(word in repo_id.lower() for word in words)
        and repo_id.startswith(f"{author}/" if author else "")
    ]
    return _json([_info(repo, repo.branches["main"], query) for repo in found[:limit]])


def _repo_api(catalog: Catalog, query: Query, kind: Kind, segments: list[str]) -> Reply:
    at = next((n for n in (1, 2) if n < len(segments) and segments[n] in ACTIONS), len(segments))
    repo = catalog.repo(kind, "/".join(segments[:at]), query.token)
    action, arguments = (segments[at], segments[at + 1 :]) if at < len(segments) else ("", [])
    if action == "":
        return _json(_info(repo, repo.branches["main"], query))
    if action == "auth-check":
        catalog.check_gate(repo, query.token)
    return ACTIONS[action](repo, query, arguments)


def _info(repo: Repo, snapshot: Snapshot, query: Query) -> dict[str, Any]:
    blobs = query.parameters.get("blobs", ["false"])[0].lower() == "true"
    fixed = {"author": repo.id.rsplit("/", 1)[0], "createdAt": DATE, "lastModified": DATE}
    info = {
        "_id": snapshot.commit[:24],
        "id": repo.id,
        "sha": snapshot.commit,
        "private": repo.private,
        "gated": "auto" if repo.gated else False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [],
        "siblings": [_sibling(file, blobs) for file in snapshot.files.values()],
        **fixed,
    }
    return info | ({"modelId": repo.id} if repo.kind == "model" else {})


def _sibling(file: File, blobs: bool) -> dict[str, Any]:
    entry = {"rfilename": file.path}
    if not blobs:
        return entry
    lfs = {"sha256": file.sha256, "size": file.size, "pointerSize": 134} if file.lfs else None
    return entry | {"size": file.size, "blobId": file.oid} | ({"lfs": lfs} if lfs else {})


def _revision(repo: Repo, query: Query, arguments: list[str]) -> Reply:
    return _json(_info(repo, _snapshot(repo, "/".join(arguments)), query))


def _tree(repo: Repo, query: Query, arguments: list[str]) -> Reply:
    snapshot = _snapshot(repo, arguments[0])
    folder = unquote("/".join(arguments[1:])).strip("/")
    if folder and folder not in snapshot.folders():
        raise HubError(404, "EntryNotFound", f"{folder} does not exist on {arguments[0]!r}")
    recursive = query.parameters.get("recursive", ["false"])[0].lower() == "true"
    below = f"{folder}/" if folder else ""
    paths = [
        path
        for path in sorted({*snapshot.files, *snapshot.folders()})
        if path.startswith(below) and (recursive or "/" not in path.removeprefix(below))
    ]
    expand = query.parameters.get("expand", ["false"])[0].lower() == "true"
    return _json([_entry(snapshot, path, expand) for path in paths])


def _paths_info(repo: Repo, query: Query, arguments: list[str]) -> Reply:
    snapshot = _snapshot(repo, arguments[0])
    form = parse_qs(query.body.decode())
    asked = [path.strip("/") for path in form.get("paths", [])]
    expand = form.get("expand", ["false"])[0].lower() == "true"
    known = {*snapshot.files, *snapshot.folders()}
    return _json([_entry(snapshot, path, expand) for path in asked if path in known])


def _entry(snapshot: Snapshot, path: str, expand: bool) -> dict[str, Any]:
    commit = {"id": snapshot.commit, "title": "Upload", "date": DATE}
    more: dict[str, Any] = {"lastCommit": commit} if expand else {}
    file = snapshot.files.get(path)
    if file is None:
        return {"type": "directory", "oid": snapshot.commit, "size": 0, "path": path} | more
    if file.lfs:
        more["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": 134}
    return {"type": "file", "oid": file.oid, "size": file.size, "path": path} | more


def _refs(repo: Repo, query: Query, arguments: list[str]) -> Reply:
    def listed(where: str, refs: Mapping[str, Snapshot]) -> list[dict[str, str]]:
        return [
            {"name": name, "ref": f"refs/{where}/{name}", "targetCommit": snapshot.commit}
            for name, snapshot in refs.items()
        ]

    tags, branches = listed("tags", repo.tags), listed("heads", repo.branches)
    return _json({"branches": branches, "tags": tags, "converts": [], "pullRequests": []})


def _commits(repo: Repo, query: Query, arguments: list[str]) -> Reply:
    commit = _snapshot(repo, "/".join(arguments)).commit
    return _json([{"id": commit, "title": "Upload", "message": "", "authors": [], "date": DATE}])


def _auth_check(repo: Repo, query: Query, arguments: list[str]) -> Reply:
    return _json({})


ACTIONS: Mapping[str, Callable[[Repo, Query, list[str]], Reply]] = {
    "revision": _revision,
    "tree": _tree,
    "paths-info": _paths_info,
    "refs": _refs,
    "commits": _commits,
    "auth-check": _auth_check,
}
