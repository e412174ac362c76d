"""What this machine has to give."""

from __future__ import annotations

from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, and of its control group."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = (_CGROUP / "memory.max").read_text().strip()
        used = int((_CGROUP / "memory.current").read_text())
        used -= _page_cache((_CGROUP / "memory.stat").read_text())
    except OSError:  # no control groups here, or the older kind
        return free
    return free if limit == "max" else min(free, max(0, int(limit) - used))


def _page_cache(stat: str) -> int:
    """Bytes of files in the group's memory, which the kernel gives up when memory is wanted.

    Both lists count, as in the kernel's own figure for the machine: the weights of a model that
    was loaded before lie on the active one.
    """
    said = dict(line.split() for line in stat.splitlines())
    return int(said.get("inactive_file", 0)) + int(said.get("active_file", 0))
