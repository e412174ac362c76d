"""`hf://datasets/org/name` through the `datasets` library (extra `hub-data`)."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from bakeoff.core.errors import BadDataset, DependencyMissing
from bakeoff.core.registry import near_matches
from bakeoff.core.rows import Notice
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.arrow import BATCH, check_types, records
from bakeoff.datasets.header import check_columns
from bakeoff.datasets.table import Record, Table

_ADDRESS = re.compile(r"hf://datasets/(?P<name>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[^@\s]+))?/?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MODEL = re.compile(r"hf://(?!datasets/)([\w.-]+(?:/[\w.-]+)?)")


class _Wanted(NamedTuple):
    """Arguments that every call of the library gets."""

    label: str
    name: str
    revision: str | None

    @property
    def options(self) -> dict[str, Any]:
        return {"revision": self.revision, "token": os.environ.get("HF_TOKEN") or None}


def open_hub(spec: DatasetSpec) -> Table:
    """A table from one split of a data set on the Hub; the Hub's cache keeps the files.

    Raises:
        DependencyMissing: the `datasets` library is not installed.
        BadDataset: the address is wrong, there is no such data set, configuration or split,
            several and none is named, or the Hub cannot be reached.
    """
    wanted = _address(spec)
    if importlib.util.find_spec("datasets") is None:
        raise DependencyMissing(f"{spec.path} (data sets of the Hub)", "hub-data")
    wanted = wanted._replace(revision=_commit(wanted))
    config = _config(wanted, spec.config)
    split = _split(wanted, config, spec.split)
    data = _load(wanted, config, split)
    _check_state(wanted, data)
    schema = data.data.schema
    columns = tuple(schema.names)
    notices = check_columns(columns, wanted.label)
    check_types(schema, wanted.label)
    if not len(data):
        raise BadDataset("there are no rows in it", file=wanted.label)
    chosen = f"configuration {config!r}, split {split!r}, revision {wanted.revision or 'as cached'}"
    return Table(
        name=wanted.name,
        file=wanted.label,
        columns=columns,
        read=lambda: _rows(data, wanted.label),
        revision=wanted.revision,
        notices=(Notice("hub-data", f"{wanted.name}: {chosen}"), *notices),
    )


def _address(spec: DatasetSpec) -> _Wanted:
    found = _ADDRESS.fullmatch(spec.path)
    if found is None:
        model = _MODEL.match(spec.path)
        hint = f" (hf://{model[1]} names a model)" if model else ""
        raise BadDataset(
            f"a data set of the Hub is written hf://datasets/org/name{hint}", file=spec.path
        )
    revision = found["revision"]
    if revision and spec.revision and revision != spec.revision:
        raise BadDataset(
            f"the address says @{revision} and revision: says {spec.revision}: keep one of them",
            file=spec.path,
        )
    return _Wanted(spec.path, found["name"], revision or spec.revision)


def _commit(wanted: _Wanted) -> str | None:
    """The commit behind the revision, so that every later call reads the same state.

    Raises:
        BadDataset: the Hub cannot be reached, and the cache does not say which state is meant.
    """
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    if _COMMIT.fullmatch(wanted.revision or ""):
        return wanted.revision
    api = huggingface_hub.HfApi(token=wanted.options["token"])
    try:
        return str(api.dataset_info(wanted.name, revision=wanted.revision).sha)
    except HfHubHTTPError:
        return wanted.revision  # refused by the Hub: the calls that follow say so
    except (OSError, httpx.HTTPError) as error:
        return _cached_commit(wanted, error)


def _cached_commit(wanted: _Wanted, cause: Exception) -> str:
    """Without the Hub the library would take the newest files of any revision."""
    import huggingface_hub

    try:
        repos = huggingface_hub.scan_cache_dir().repos
    except huggingface_hub.CacheNotFound:
        repos = frozenset()
    found = [r for r in repos if r.repo_type == "dataset" and r.repo_id == wanted.name]
    states = [str(state.commit_hash) for repo in found for state in repo.revisions]
    named = [
        repo.refs[wanted.revision or "main"]
        for repo in found
        if (wanted.revision or "main") in repo.refs
    ]
    if named:
        return str(named[0].commit_hash)
    if len(states) == 1 and wanted.revision is None:
        return states[0]
    if not states:
        raise BadDataset(_reason(wanted, cause), file=wanted.label) from cause
    raise BadDataset(
        "the Hub cannot be reached, and the cache does not say which state "
        f"{wanted.revision or 'main'!r} is: write revision: with one of "
        f"{', '.join(sorted(states))}",
        file=wanted.label,
    ) from cause


def _config(wanted: _Wanted, config: str | None) -> str:
    import datasets

    names = _asked(wanted, lambda: datasets.get_dataset_config_names(wanted.name, **wanted.options))
    if config is None and (len(names) == 1 or "default" in names):
        return "default" if "default" in names else str(names[0])
    return _one_of("config", config, names, wanted)


def _split(wanted: _Wanted, config: str, split: str | None) -> str:
    import datasets

    names = _asked(
        wanted, lambda: datasets.get_dataset_split_names(wanted.name, config, **wanted.options)
    )
    if split is None and len(names) == 1:
        return str(names[0])
    return _one_of("split", split, names, wanted)


def _one_of(option: str, value: str | None, names: list[str], wanted: _Wanted) -> str:
    listed = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
    if value is None:
        raise BadDataset(f"write {option}: with one of {listed}", file=wanted.label)
    if value not in names:
        near = near_matches(value, names)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise BadDataset(
            f"there is no {option} {value!r}: {hint}There are {listed}", file=wanted.label
        )
    return value


def _load(wanted: _Wanted, config: str, split: str) -> Any:
    import datasets

    datasets.disable_progress_bars()
    return _asked(
        wanted,
        lambda: datasets.load_dataset(wanted.name, config, split=split, **wanted.options),
    )


def _check_state(wanted: _Wanted, data: Any) -> None:
    """Offline the library takes the state it prepared last, whatever revision was asked for."""
    folders = {part for entry in data.cache_files for part in Path(entry["filename"]).parts}
    states = {folder for folder in folders if _COMMIT.fullmatch(folder)}
    if states and wanted.revision not in states:
        raise BadDataset(
            f"the cache holds revision {', '.join(sorted(states))} ready for use, and "
            f"{wanted.revision} was asked for: connect to the Hub, or write that revision",
            file=wanted.label,
        )


def _asked(wanted: _Wanted, call: Callable[[], Any]) -> Any:
    """The library raises its own classes, the Hub's and the network's; the first line says why."""
    try:
        return call()
    except Exception as error:
        raise BadDataset(_reason(wanted, error), file=wanted.label) from error


def _reason(wanted: _Wanted, error: Exception) -> str:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    said = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
    if kinds & {"DatasetNotFoundError", "RepositoryNotFoundError", "GatedRepoError"}:
        at = f" at revision {wanted.revision!r}" if wanted.revision else ""
        return (
            f"the Hub does not give it{at}: {said} (a private or gated data set needs the "
            "environment variable HF_TOKEN and access granted on its page)"
        )
    if kinds & {"ConnectionError", "OfflineModeIsEnabled", "ConnectError", "TimeoutException"}:
        return f"the Hub cannot be reached and it is not in the cache: {said}"
    return f"the `datasets` library could not load it: {said}"


def _rows(data: Any, file: str) -> Iterator[Record]:
    yield from records(data.with_format("arrow").iter(batch_size=BATCH), file)
