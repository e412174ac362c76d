"""What this machine has to give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import psutil

_GROUPS = Path("proc/self/cgroup")


@dataclass(frozen=True, slots=True)
class _Files:
    """Where a version of control groups says what a group may take, and what it takes.

    Attributes:
        mounts: folders under which the groups may lie.
        limit: file of the limit in bytes; a word, or a number beyond any memory: there is none.
        used: file of the bytes that are taken, page cache included.
        cached: names in `memory.stat` of the page cache, children included.
    """

    mounts: tuple[str, ...]
    limit: str
    used: str
    cached: tuple[str, ...]


_V1 = _Files(
    ("sys/fs/cgroup/memory",),
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
)
_V2 = _Files(
    ("sys/fs/cgroup", "sys/fs/cgroup/unified"),
    "memory.max",
    "memory.current",
    ("inactive_file", "active_file"),
)


def available_memory(root: Path = Path("/")) -> int:
    """Bytes that this process may still take: of the machine, and of its control groups.

    Of all groups from the process's own to the outermost that can be seen, the tightest counts.

    Args:
        root: where `proc` and `sys` lie.
    """
    free = int(psutil.virtual_memory().available)
    return min([free, *_left(root)])


def memory_ran_out(error: BaseException, signs: Sequence[str]) -> bool:
    """Whether a library says that memory ran out.

    On a CPU that is often a plain RuntimeError; `signs` are words, in small letters, by which its
    text is known.
    """
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error).lower() for sign in signs)


def _left(root: Path) -> Iterator[int]:
    """What each control group that has a limit leaves."""
    for files, own in ((_V1, _group(root, "memory")), (_V2, _group(root, ""))):
        for mount in files.mounts:
            for name in (own, *own.parents):
                found = _left_in(root / mount / name, files)
                if found is not None:
                    yield found


def _group(root: Path, controller: str) -> PurePosixPath:
    """The group of this process under its mount; in doubt the outermost.

    A container may see the path that its host has, which is not there, or one that leads out of
    what it can see.
    """
    try:
        lines = (root / _GROUPS).read_text(encoding="utf-8").splitlines()
    except OSError:  # no control groups here
        return PurePosixPath()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(",") and ".." not in path.split("/"):
            return PurePosixPath(path.lstrip("/"))
    return PurePosixPath()


def _left_in(folder: Path, files: _Files) -> int | None:
    """What a group leaves, or None: it has no limit, or is not there."""
    try:
        limit = (folder / files.limit).read_text().strip()
        used = int((folder / files.used).read_text())
        used -= _page_cache((folder / "memory.stat").read_text(), files.cached)
    except OSError:
        return None
    return max(0, int(limit) - used) if limit.isdigit() else None


def _page_cache(stat: str, names: tuple[str, ...]) -> int:
    """Bytes of files in the group's memory, which the kernel gives up when memory is wanted.

    Both lists count, as in the kernel's own figure for the machine: the weights of a model that
    was loaded before lie on the active one.
    """
    said = dict(line.split() for line in stat.splitlines())
    return sum(int(said.get(name, 0)) for name in names)
