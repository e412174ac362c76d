"""The Hugging Face Hub: a revision becomes a commit, a commit becomes files in the cache.

All access goes through here, so that configuration, tokenizer and weights come from one commit
and are asked for with one token, and so that every error of the client library is translated
once. The endpoint, the token and offline mode are the client's own: HF_ENDPOINT, HF_TOKEN (or the
token that `hf auth login` stored), HF_HUB_OFFLINE, HF_HOME.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, constants, get_token, snapshot_download
from huggingface_hub.utils import tqdm

from bakeoff.core.errors import HubUnreachable, ModelLoadFailed
from bakeoff.engines.huberrors import is_outage, translated

DEFAULT_REVISION = "main"
_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class HubRepo:
    """A repository at one commit.

    Attributes:
        name: `org/name`.
        commit: 40 hexadecimal digits.
        files: paths in the repository; only those at hand where `cached`.
        cached: whether the Hub was not asked because it cannot be reached.
        sizes: bytes of each file, as far as the Hub says.
    """

    name: str
    commit: str
    files: tuple[str, ...]
    cached: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)


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
    with translated(name, revision):
        try:
            info = HfApi().model_info(
                name, revision=revision, timeout=_TIMEOUT, files_metadata=True, token=get_token()
            )
        except Exception as error:
            found = _cached(name, revision) if is_outage(error) else None
            if found is None:
                raise
            return found
    siblings = info.siblings or []
    return HubRepo(
        name,
        str(info.sha),
        tuple(file.rfilename for file in siblings),
        sizes={file.rfilename: file.size for file in siblings if file.size is not None},
    )


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
    with translated(name, revision, files):
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
