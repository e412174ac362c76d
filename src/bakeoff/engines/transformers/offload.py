"""A folder for weights that stay on disk; gone when the model is.

    <home>/offload/<pid>-<n>/        weights that had to be written
    <home>/offload/<pid>-<n>.lock    held while the model lives, so that a killed process holds none

It lies beside the cache and not in the system's temporary folder, which is often memory itself.
Weights in safetensors files are read from where they are; only others are written here.
"""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from bakeoff.engines.cache import bakeoff_home


class Offload:
    """A folder of its own for one model."""

    def __init__(self) -> None:
        """Make it, and clear away what killed processes left behind."""
        root = bakeoff_home() / "offload"
        root.mkdir(parents=True, exist_ok=True)
        _sweep(root)
        self.path = root / f"{os.getpid()}-{uuid.uuid4().hex}"
        # thread_local=False: it is given up by whichever thread drops the model
        self._lock = FileLock(_lock_of(self.path), thread_local=False)
        self._lock.acquire()
        self.path.mkdir()

    def remove(self) -> None:
        """Delete the folder; may be called twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock.is_locked:
            self._lock.release()
            Path(self._lock.lock_file).unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _sweep(root: Path) -> None:
    for path in root.glob("*.lock"):
        with suppress(Timeout), FileLock(path, timeout=0):  # a living process holds it
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
            path.unlink(missing_ok=True)
