"""Cached conversions: published by rename, held by leases, pruned by age and size.

    <home>/cache/<kind>/<key>/             a published entry, with `entry.json` inside
    <home>/cache/<kind>/<key>.lock         held while an entry is built, leased or removed
    <home>/cache/<kind>/<key>.leases/      one locked file for each holder
    <home>/cache/<kind>/<key>.tmp-<n>/     an entry being built; a leftover when its lock is free

An entry appears whole, by one rename, or not at all. A lease is a file lock, so that a killed
process holds none.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

ENTRY_FILE = "entry.json"
"""Says inside an entry what it was made from; its modification time is the last use."""


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A cached conversion.

    Attributes:
        kind: converter, for example `gguf`.
        key: hash of everything the entry depends on.
        path: folder.
        bytes: size on disk.
        used: last use, in seconds since the epoch.
        source: what it was made from, for people.
        in_use: whether a process holds a lease.
    """

    kind: str
    key: str
    path: Path
    bytes: int
    used: float
    source: str
    in_use: bool


class Lease:
    """Keeps an entry from being pruned until `release`, which may be called twice.

    Attributes:
        path: folder of the entry.
    """

    def __init__(self, path: Path, lock: FileLock) -> None:
        self.path = path
        self._lock = lock

    def release(self) -> None:
        """Give the entry back."""
        if self._lock.is_locked:
            self._lock.release()
            Path(self._lock.lock_file).unlink(missing_ok=True)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def bakeoff_home() -> Path:
    """Folder of everything bakeoff keeps: `BAKEOFF_HOME`, else the user's cache folder."""
    said = os.environ.get("BAKEOFF_HOME")
    return Path(said).expanduser() if said else platformdirs.user_cache_path("bakeoff")


def acquire(kind: str, key: str, source: str, build: Callable[[Path], None]) -> Lease:
    """An entry, built where it is not there yet, and a lease on it.

    A second process that wants the same entry waits for the first.

    Args:
        kind: converter.
        key: hash of everything the entry depends on.
        source: what it is made from, for people.
        build: fills an empty folder; what it raises passes through and nothing is published.
    """
    final = entry_folder(kind, key)
    final.parent.mkdir(parents=True, exist_ok=True)
    with _guard(final):
        _remove_leftovers(final)
        if not final.exists():
            _build(final, source, build)
        lock = _lease_lock(final)
        os.utime(final / ENTRY_FILE)
    return Lease(final, lock)


def published(kind: str, key: str) -> bool:
    """Whether an entry is there; it may be pruned until it is acquired."""
    return (entry_folder(kind, key) / ENTRY_FILE).is_file()


def entry_folder(kind: str, key: str) -> Path:
    """Where an entry lies, or would."""
    return _root() / kind / key


def entries() -> list[CacheEntry]:
    """All published entries, last used first."""
    found = [_describe(path) for path in _published()]
    return sorted(found, key=lambda entry: entry.used, reverse=True)


def prune(older_than: float | None = None, max_bytes: int | None = None) -> list[CacheEntry]:
    """Remove entries that nobody uses, and what killed processes left behind.

    Args:
        older_than: remove what was last used more than this many seconds ago.
        max_bytes: remove the longest unused until the rest is no bigger than this.

    Returns:
        What was removed; with neither argument that is everything not in use.
    """
    kept = entries()
    doomed = _doomed(kept, older_than, max_bytes)
    removed = [entry for entry in doomed if _remove(entry.path)]
    for folder in _root().glob("*/*.tmp-*"):
        owner = folder.with_name(folder.name.partition(".tmp-")[0])
        with suppress(Timeout), _guard(owner, timeout=0):  # being built by a living process
            _remove_leftovers(owner)
    return removed


def _doomed(
    newest_first: list[CacheEntry], older_than: float | None, max_bytes: int | None
) -> list[CacheEntry]:
    if older_than is None and max_bytes is None:
        return newest_first
    doomed: list[CacheEntry] = []
    now, size = time.time(), sum(entry.bytes for entry in newest_first)
    for entry in reversed(newest_first):
        too_old = older_than is not None and now - entry.used > older_than
        too_much = max_bytes is not None and size > max_bytes
        if not entry.in_use and (too_old or too_much):
            doomed.append(entry)
            size -= entry.bytes
    return doomed


def _root() -> Path:
    return bakeoff_home() / "cache"


def _published() -> list[Path]:
    return [path.parent for path in _root().glob(f"*/*/{ENTRY_FILE}") if ".tmp-" not in str(path)]


def _guard(final: Path, timeout: float = -1) -> FileLock:
    return FileLock(final.with_name(final.name + ".lock"), timeout=timeout)


def _leases(final: Path) -> Path:
    return final.with_name(final.name + ".leases")


def _lease_lock(final: Path) -> FileLock:
    _leases(final).mkdir(exist_ok=True)
    # thread_local=False: the lease is given back by whichever thread drops the model
    lock = FileLock(_leases(final) / f"{os.getpid()}-{uuid.uuid4().hex}.lock", thread_local=False)
    lock.acquire()
    return lock


def _in_use(final: Path) -> bool:
    """Whether a living process holds a lease; leases of dead ones are cleared away."""
    for path in sorted(_leases(final).glob("*.lock")):
        try:
            with FileLock(path, timeout=0):
                path.unlink(missing_ok=True)
        except Timeout:
            return True
    return False


def _build(final: Path, source: str, build: Callable[[Path], None]) -> None:
    working = final.with_name(f"{final.name}.tmp-{uuid.uuid4().hex}")
    working.mkdir()
    try:
        build(working)
        (working / ENTRY_FILE).write_text(json.dumps({"source": source}), encoding="utf-8")
        _sync(working)
        working.rename(final)
    finally:
        shutil.rmtree(working, ignore_errors=True)  # gone already when it was published


def _sync(folder: Path) -> None:
    """Bring the files to the disk before the rename can be there without them."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())


def _remove_leftovers(final: Path) -> None:
    """Delete half-built folders of killed processes; the caller holds the guard."""
    for leftover in final.parent.glob(f"{final.name}.tmp-*"):
        shutil.rmtree(leftover)


def _remove(final: Path) -> bool:
    try:
        with _guard(final, timeout=0):
            if not final.exists() or _in_use(final):
                return False
            doomed = final.with_name(f"{final.name}.tmp-{uuid.uuid4().hex}")
            final.rename(doomed)  # a kill from here on leaves a leftover, never half an entry
            shutil.rmtree(doomed)
            shutil.rmtree(_leases(final), ignore_errors=True)
            return True
    except Timeout:
        return False


def _describe(path: Path) -> CacheEntry:
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    entry = path / ENTRY_FILE
    source = str(json.loads(entry.read_text(encoding="utf-8"))["source"])
    used = entry.stat().st_mtime
    return CacheEntry(path.parent.name, path.name, path, size, used, source, _in_use(path))
