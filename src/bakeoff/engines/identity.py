"""What a model is, as one string: part of every generation key.

`hf:ORG/NAME@COMMIT` for a repository, `sha256:HEX` for a folder or file. Other parts that
change the text follow behind a `+`: `+tokenizer:...`, `+adapter:...`, `+code:...`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from filelock import FileLock

from bakeoff.core.canonical import digest
from bakeoff.engines.cache import bakeoff_home

_log = logging.getLogger(__name__)
_MEMO_FROM = 1 << 20
"""Bytes from which on a file's hash is remembered; smaller files are hashed each time."""


def hub_identity(name: str, commit: str) -> str:
    """Identity of a repository at a commit."""
    return f"hf:{name}@{commit}"


def folder_identity(folder: Path, files: Iterable[str]) -> str:
    """Identity of a folder: hash over names and contents of the files that make the model."""
    return "sha256:" + digest([[name, file_sha256(folder / name)] for name in sorted(files)])


def file_identity(path: Path) -> str:
    """Identity of a model in one file."""
    return f"sha256:{file_sha256(path)}"


def with_part(identity: str, part: str, value: str) -> str:
    """The identity of a model with something laid over it."""
    return f"{identity}+{part}:{value}"


def part_of(identity: str, part: str) -> str | None:
    """The value that `with_part` added, or None."""
    for piece in identity.split("+")[1:]:
        name, _, value = piece.partition(":")
        if name == part:
            return value
    return None


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, 64 hexadecimal digits.

    The hash of a big file is remembered in `<home>/hashes.json` under absolute path, size,
    modification time and inode, so that unchanged weights are not read again.
    """
    real = path.resolve()
    status = real.stat()
    if status.st_size < _MEMO_FROM:
        return _hash(real)
    key = json.dumps([str(real), status.st_size, status.st_mtime_ns, status.st_ino])
    memo = bakeoff_home() / "hashes.json"
    known = _read(memo).get(key)
    if isinstance(known, str):
        return known
    value = _hash(real)
    _remember(memo, key, value)
    return value


def _hash(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(memo: Path) -> dict[str, Any]:
    try:
        value = json.loads(memo.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        _log.warning("%s cannot be read (%s): files are hashed again", memo, error)
        return {}
    return value if isinstance(value, dict) else {}


def _remember(memo: Path, key: str, value: str) -> None:
    try:
        memo.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(memo.with_name("hashes.lock")):
            working = memo.with_name(f"hashes.{uuid.uuid4().hex}.tmp")
            text = json.dumps({**_read(memo), key: value}, indent=0)
            working.write_text(text, encoding="utf-8")
            os.replace(working, memo)
    except OSError as error:  # the hash itself is right; only remembering it failed
        _log.warning("%s cannot be written (%s): files are hashed again next time", memo, error)
