"""The Hugging Face Hub: a revision becomes a commit, a commit becomes files in the cache.

All access goes through here, so that configuration, tokenizer and weights come from one commit
and are asked for with one token, and so that every error of the client library is translated
once. The endpoint, the token and offline mode are the client's own: HF_ENDPOINT, HF_TOKEN (or the
token that `hf auth login` stored), HF_HUB_OFFLINE, HF_HOME.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, constants, get_token, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import tqdm

from bakeoff.core.errors import (
    BakeoffError,
    HubUnreachable,
    ModelAccessDenied,
    ModelLoadFailed,
    ModelNotFound,
)
from bakeoff.core.registry import near_matches

DEFAULT_REVISION = "main"
_TIMEOUT = 30.0
_LISTED = 50
_HttpError: type[Exception] = HfHubHTTPError.__bases__[0]
"""The HTTP library's own base class, whichever library the client uses."""


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A repository at one commit.

    Attributes:
        name: `org/name`.
        commit: 40 hexadecimal digits.
        files: paths in the repository; only those at hand where `cached`.
        cached: whether the Hub was not asked because it cannot be reached.
    """

    name: str
    commit: str
    files: tuple[str, ...]
    cached: bool = False


class _Silent(tqdm):  # type: ignore[misc]
    """A progress bar that shows nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.pop("name", None)  # only the client's own bar knows it
        super().__init__(*args, **{**kwargs, "disable": True})


def resolve(name: str, revision: str | None = None) -> HubRepo:
    """What a branch, tag or commit is now; from the cache where the Hub cannot be reached.

    Raises:
        ModelNotFound: no such repository or revision; near matches are named.
        ModelAccessDenied: the token opens nothing.
        HubUnreachable: no connection and nothing cached.
    """
    with _translated(name, revision):
        try:
            info = HfApi().model_info(name, revision=revision, timeout=_TIMEOUT, token=get_token())
        except Exception as error:
            found = _cached(name, revision) if _is_outage(error) else None
            if found is None:
                raise
            return found
    siblings = info.siblings or []
    return HubRepo(name, str(info.sha), tuple(file.rfilename for file in siblings))


def open_repo(name: str, revision: str | None, wanted: Sequence[str]) -> tuple[HubRepo, Path]:
    """A repository at one commit and a folder that holds its files matching `wanted`.

    Raises:
        ModelError: as for `resolve` and `fetch`.
    """
    repo = resolve(name, revision)
    if repo.cached:
        return repo, _snapshot_folder(name, repo.commit)
    names = [file for file in repo.files if any(fnmatch.fnmatch(file, p) for p in wanted)]
    for _ in range(3):
        folder = _download(name, revision or DEFAULT_REVISION, names)
        if folder.name == repo.commit:
            return repo, folder
        repo = resolve(name, folder.name)  # the branch moved between the two requests
    raise HubUnreachable(f"hf://{name}: {revision or DEFAULT_REVISION!r} keeps moving; try again")


def fetch(repo: HubRepo, files: Sequence[str]) -> Path:
    """The folder that holds these files of the commit; what is cached is not fetched again.

    Raises:
        ModelLoadFailed: the repository lacks a file, which is named.
        ModelAccessDenied, HubUnreachable: as they say; an interrupted download goes on where it
            stopped the next time.
    """
    folder = _snapshot_folder(repo.name, repo.commit)
    absent = [file for file in files if not (folder / file).exists()]
    unknown = [file for file in absent if file not in repo.files]
    if unknown and not repo.cached:
        raise ModelLoadFailed(
            f"hf://{repo.name}@{repo.commit} lacks {', '.join(unknown)}: the repository is "
            "incomplete; name another revision or tell its owner"
        )
    if absent:
        folder = _download(repo.name, repo.commit, absent)
    for file in files:
        if not (folder / file).exists():
            raise HubUnreachable(f"hf://{repo.name}: {file} is not cached and cannot be fetched")
    return folder


def _download(name: str, revision: str, files: Sequence[str]) -> Path:
    with _translated(name, revision, files):
        patterns = [file.replace("[", "[[]") for file in files]
        folder = snapshot_download(
            name,
            revision=revision,
            allow_patterns=patterns,
            token=get_token(),
            tqdm_class=_Silent,
        )
    return Path(folder)


def _snapshot_folder(name: str, commit: str) -> Path:
    """Where the client keeps a commit's files (its documented cache layout)."""
    return _repo_folder(name) / "snapshots" / commit


def _repo_folder(name: str) -> Path:
    return Path(constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"


def _cached(name: str, revision: str | None) -> HubRepo | None:
    said = revision or DEFAULT_REVISION
    pointer = _repo_folder(name) / "refs" / said
    commit = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else said
    folder = _snapshot_folder(name, commit)
    if not folder.is_dir():
        return None
    files = (path for path in folder.rglob("*") if path.exists() and not path.is_dir())
    return HubRepo(name, commit, tuple(p.relative_to(folder).as_posix() for p in files), True)


def _is_outage(error: Exception) -> bool:
    if isinstance(error, HfHubHTTPError):
        return _status(error) >= 500 or _status(error) == 429
    return isinstance(error, (_HttpError, OfflineModeIsEnabled, ConnectionError))


def _status(error: HfHubHTTPError) -> int:
    response = getattr(error, "response", None)
    return int(getattr(response, "status_code", 0) or 0)


@contextmanager
def _translated(name: str, revision: str | None, files: Iterable[str] = ()) -> Iterator[None]:
    """Turn what the client raises into a `ModelError`; the token never gets into a message."""
    try:
        yield
    except BakeoffError:
        raise
    except Exception as error:
        known = _known(name, revision, error) or _broken_off(name, tuple(files), error)
        if known is None:
            raise
        raise known from error


def _known(name: str, revision: str | None, error: Exception) -> BakeoffError | None:
    if isinstance(error, GatedRepoError):
        return _gated(name)
    if isinstance(error, RevisionNotFoundError):
        return _no_revision(name, revision)
    if isinstance(error, RepositoryNotFoundError):
        return _no_repository(name)
    if isinstance(error, HFValidationError):
        return ModelNotFound(f"{name!r} is no repository on the Hub: write hf://org/name")
    if isinstance(error, RemoteEntryNotFoundError):
        return ModelLoadFailed(f"hf://{name}: the repository lacks a file that it lists")
    if isinstance(error, HfHubHTTPError) and _status(error) in (401, 403):
        return _denied(name, _status(error))
    return None


def _broken_off(name: str, files: tuple[str, ...], error: Exception) -> BakeoffError | None:
    """No connection, or none any more; `files` were being downloaded."""
    what = f" ({', '.join(files[:5])}{', ...' if len(files) > 5 else ''})" if files else ""
    if isinstance(error, (OfflineModeIsEnabled, LocalEntryNotFoundError)):
        offline = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else "the Hub does not answer"
        return HubUnreachable(
            f"hf://{name}{what} is not in the cache and {offline}: go online once, or name a "
            "local folder"
        )
    if isinstance(error, HfHubHTTPError):
        return HubUnreachable(f"hf://{name}{what}: the Hub answers {_status(error)}; try again")
    if isinstance(error, (_HttpError, OSError, RuntimeError)):
        cause = type(error).__name__
        kept = "; what has arrived is kept, the next try goes on from there" if files else ""
        return HubUnreachable(
            f"hf://{name}{what} cannot be fetched from {constants.ENDPOINT} ({cause}){kept}"
        )
    return None


def _gated(name: str) -> ModelAccessDenied:
    page = f"{constants.ENDPOINT}/{name}"
    if get_token() is None:
        return ModelAccessDenied(
            f"hf://{name} is gated: accept its terms at {page} and set HF_TOKEN to a token of "
            "that account"
        )
    return ModelAccessDenied(
        f"hf://{name} is gated and the account of the token in HF_TOKEN has no access: accept "
        f"its terms at {page}"
    )


def _denied(name: str, status: int) -> ModelAccessDenied:
    if get_token() is None:
        return ModelAccessDenied(
            f"hf://{name}: the Hub answers {status}: set HF_TOKEN to a token that may read it"
        )
    return ModelAccessDenied(
        f"hf://{name}: the Hub answers {status}: the token in HF_TOKEN is not valid or may not "
        "read it; set another, or unset it for public models"
    )


def _no_revision(name: str, revision: str | None) -> ModelNotFound:
    names: list[str] = []
    with suppress(*_best_effort()):  # the answer is the same without suggestions
        refs = HfApi().list_repo_refs(name, token=get_token())
        names = [ref.name for ref in (*refs.branches, *refs.tags)]
    near = near_matches(revision or "", names)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    listed = f"it has {', '.join(sorted(names)[:_LISTED])}" if names else "name another one"
    return ModelNotFound(f"hf://{name} has no revision {revision!r}: {hint}{listed}")


def _no_repository(name: str) -> ModelNotFound:
    near = _similar(name)
    hint = f"did you mean {' or '.join(f'hf://{n}' for n in near)}? " if near else ""
    private = "" if get_token() else "; a private one needs HF_TOKEN"
    return ModelNotFound(f"hf://{name} does not exist{private}: {hint}check the name")


def _similar(name: str) -> list[str]:
    """Names that the Hub's search finds for parts of a name; it does not guess spellings."""
    organisation, _, rest = name.rpartition("/")
    words = sorted(rest.replace("_", "-").replace(".", "-").split("-"), key=len, reverse=True)
    queries = [{"search": rest}, {"search": words[0]}]
    if organisation:
        queries.insert(1, {"author": organisation})
    found: dict[str, None] = {}
    for query in queries:
        with suppress(*_best_effort()):
            models = HfApi().list_models(**query, limit=_LISTED, token=get_token())
            found.update(dict.fromkeys(model.id for model in models))
        near = near_matches(name, list(found))
        if near:
            return near
    return []


def _best_effort() -> tuple[type[Exception], ...]:
    return (_HttpError, OSError, ValueError)
