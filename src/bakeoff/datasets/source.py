"""Bytes of a data set: a file, or a stream kept in a spool file so that it can be read again."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from bakeoff.core.errors import BadDataset

STDIN = "standard input"
"""What it is called in messages."""
_GZIP = b"\x1f\x8b"
_BLOCK = 1024 * 1024


class Source:
    """A file or folder on disk, and how it is called in messages.

    Attributes:
        path: where the bytes are.
        label: what the user wrote, for error messages.
        name: for people, without folders.
        stream: whether the bytes came from a stream, so that the name has no ending to go by.
        compressed: whether the bytes are gzip.
    """

    def __init__(self, path: Path, label: str, name: str, stream: bool = False) -> None:
        self.path = path
        self.label = label
        self.name = name
        self.stream = stream
        self.compressed = False
        self._print = self._fingerprint()
        if path.is_file():
            with self.reading(), path.open("rb") as file:
                self.compressed = file.read(2) == _GZIP

    def _fingerprint(self) -> tuple[int, int]:
        state = self.path.stat()
        return state.st_size, state.st_mtime_ns

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turns failures of the operating system and of gzip into `BadDataset`."""
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadDataset(f"the gzip data are damaged: {error}", file=self.label) from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise BadDataset(f"cannot be read: {reason}", file=self.label) from error

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes from the beginning, unpacked.

        Raises:
            BadDataset: the file cannot be read, or is no longer the one that was opened first.
        """
        with self.reading():
            if self._fingerprint() != self._print:
                raise BadDataset("the file changed while it was in use: run again", file=self.label)
            with self.path.open("rb") as raw:
                if not self.compressed:
                    yield raw
                    return
                with gzip.open(raw, "rb") as unpacked:
                    yield cast(BinaryIO, unpacked)

    def head(self, size: int) -> bytes:
        """The first `size` bytes."""
        with self.open() as stream:
            return stream.read(size)


def standard_input(given: BinaryIO | None = None) -> BinaryIO:
    """What `-` reads: `given`, by default the process's own standard input.

    Raises:
        BadDataset: it is a terminal, or the process was started without one.
    """
    stream = given if given is not None else getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise BadDataset("is closed: pipe a file into it", file=STDIN)
    if stream.isatty():
        raise BadDataset("is a terminal: pipe a file into it", file=STDIN)
    return cast(BinaryIO, stream)


def _kept(new: Path, place: Path) -> Path:
    """A file of the same name has the same content, and may be in use: it stays."""
    if not place.exists():
        return new.replace(place)
    new.unlink()
    return place


def spooled(stream: BinaryIO, label: str, folder: Path | None) -> Source:
    """A stream that can be read once, kept in a file.

    Args:
        stream: read to its end.
        label: what the stream is called in messages.
        folder: where the file is kept, named by its content; without, a temporary file that goes
            when the data set goes.
    """
    digest = hashlib.sha256()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    handle, text = tempfile.mkstemp(prefix="bakeoff-stdin-", dir=folder)
    path = Path(text)
    try:
        with os.fdopen(handle, "wb") as out:
            while block := stream.read(_BLOCK):
                digest.update(block)
                out.write(block)
        if folder is not None:
            path = _kept(path, folder / f"stdin-{digest.hexdigest()[:32]}")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    source = Source(path, label, label, stream=True)
    if folder is None:
        weakref.finalize(source, path.unlink, missing_ok=True)
    return source
