"""Whether a file can be written where a flag says, before any work is done for it."""

from __future__ import annotations

import os
from pathlib import Path

from bakeoff.core.errors import InvalidRequest


def check_place(path: Path, replace: bool, flag: str) -> None:
    """Refuse a place for a new file.

    Args:
        path: of the file; its folders need not exist.
        replace: whether a file may be there already.
        flag: that allows it, for the message.

    Raises:
        InvalidRequest: a folder or a file is there, or nothing can be written there.
    """
    try:
        if path.is_dir():
            raise InvalidRequest(f"--out {str(path)!r} is a folder: name a file in it")
        if path.exists() and not replace:
            raise InvalidRequest(f"{path} exists: choose another --out or pass {flag}")
        folder = path.absolute().parent
        while not folder.exists():
            folder = folder.parent
    except OSError as problem:
        raise InvalidRequest(f"--out {str(path)[:60]!r}: {problem.strerror}") from problem
    if not folder.is_dir():
        raise InvalidRequest(f"--out {str(path)!r}: {str(folder)!r} is a file, not a folder")
    if not os.access(folder, os.W_OK):
        raise InvalidRequest(f"--out {str(path)!r}: nothing can be written in {str(folder)!r}")
