"""The journal of a run: segments of row results, one writer a segment.

`rows/<model id>/<attempt>-<writer>-<n>.jsonl`: line 1 is the header, then one strict JSON line a
row. A finished row is a finished row, whoever wrote it: readers take, for each key, the first
finished row (lowest attempt, then writer, then line), else the last failure.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bakeoff.core.results import RowResult
from bakeoff.store.files.lines import Damage, SegmentHeader, read_header, read_row, write_line

__all__ = [
    "Damage",
    "JournalIndex",
    "JournalWriter",
    "Line",
    "SegmentHeader",
    "journals_of",
    "newest_epoch",
    "pick_rows",
    "read_lines",
    "segments",
]

FSYNC_SECONDS = 1.0
_NAME = re.compile(r"^(\d{4,9})-([0-9a-f]+)-(\d{1,9})\.jsonl$")


class Segment(NamedTuple):
    """A segment's place in the order of reading."""

    attempt: int
    writer: str
    number: int
    path: Path


@dataclass(frozen=True, slots=True)
class Line:
    """One row, and the header of the segment that holds it."""

    header: SegmentHeader
    row: RowResult

    @property
    def values(self) -> dict[str, Any]:
        """The row as plain values."""
        return self.row.model_dump(mode="json")


def segments(folder: Path) -> list[Segment]:
    """The segments of a model in reading order."""
    found = []
    for path in folder.glob("*.jsonl"):
        match = _NAME.match(path.name)
        if match and path.is_file():
            found.append(Segment(int(match[1]), match[2], int(match[3]), path))
    return sorted(found)


def read_lines(folder: Path, damage: Damage | None = None) -> Iterator[Line]:
    """All rows of a model in reading order; unreadable lines are counted, not raised.

    Raises:
        RunDamaged: a segment was written by a newer bakeoff.
    """
    damage = damage or Damage()
    for segment in segments(folder):
        with segment.path.open("rb") as file:
            header = read_header(file.readline(), segment.path, damage)
            if header is None:
                continue
            for raw in file:
                row = read_row(raw, damage)
                if row is not None:
                    yield Line(header, row)


class JournalIndex:
    """Which keys of a model are done, without holding the rows."""

    def __init__(self, folder: Path) -> None:
        """Scan all segments of the folder; a missing folder is an empty journal."""
        self.damage = Damage()
        self.parts: dict[str, dict[str, Any]] = {}
        self.epoch = 0
        self.attempt = max((s.attempt for s in segments(folder)), default=0)
        self._finished: set[bytes] = set()
        self._failed: set[bytes] = set()
        self._places: set[int] = set()
        self._asked: dict[str, dict[str, dict[str, Any]]] = {}
        header, above = None, ""
        for line in read_lines(folder, self.damage):
            self._add(line.row)
            if line.header is not header:
                header, above = line.header, self._settings(line.header)
            if line.row.ok:
                self._places.add(_place(above, line.row.row, line.row.repeat))
        self._failed -= self._finished
        for segment in segments(folder):
            self._read_epoch(segment.path)

    def _add(self, row: RowResult) -> None:
        key = short_key(row.key)
        if row.ok:
            self._finished.add(key)
        else:
            self._failed.discard(key)
            if row.error is not None and not row.error.retryable:
                self._failed.add(key)

    def _read_epoch(self, path: Path) -> None:
        with path.open("rb") as file:
            header = read_header(file.readline(), path, Damage())
        if header is not None:
            self.epoch = max(self.epoch, header.epoch)
            self.parts[json.dumps(header.parts, sort_keys=True)] = header.parts

    def settled(self, key: str) -> bool:
        """Whether the row needs no work: finished, or failed in a way that trying again repeats."""
        short = short_key(key)
        return short in self._finished or short in self._failed

    def _settings(self, header: SegmentHeader) -> str:
        parts, asked = _text(header.parts), _text(header.asked)
        self._asked.setdefault(parts, {})[asked] = header.asked
        return parts + asked

    def asked(self, parts: dict[str, Any], row: str, repeat: int) -> list[dict[str, Any]]:
        """With what a row of that id was asked when it was finished under these settings.

        Task, prompt and columns as the segments name them; none where it was not finished.
        """
        if not self._places:
            return []
        text = _text(parts)
        known = self._asked.get(text, {})
        return [
            settings
            for asked, settings in known.items()
            if _place(text + asked, row, repeat) in self._places
        ]

    def __len__(self) -> int:
        return len(self._finished)


def _text(values: dict[str, Any]) -> str:
    return json.dumps(values, sort_keys=True)


def _place(settings: str, row: str, repeat: int) -> int:
    """8 bytes of a hash: a million rows fit."""
    text = f"{settings}\0{row}\0{repeat}"
    hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(hashed.digest(), "big")


def short_key(key: str) -> bytes:
    """16 bytes of a key: enough to be unique, small enough for a million rows."""
    return bytes.fromhex(key[:32])


def newest_epoch(folder: Path) -> int | None:
    """The highest epoch of a model's segments; None where there is none. Reads headers alone."""
    return max((0 if h is None else h.epoch for h in _headers(folder)), default=None)


def journals_of(folder: Path, model: str) -> list[str]:
    """Names of the journals below a folder that hold rows of the model with that identity."""
    return [
        journal.name
        for journal in sorted(folder.glob("*/"))
        if any(h is not None and h.parts.get("model") == model for h in _headers(journal))
    ]


def _headers(folder: Path) -> Iterator[SegmentHeader | None]:
    for segment in segments(folder):
        with segment.path.open("rb") as file:
            yield read_header(file.readline(), segment.path, Damage())


def pick_rows(folder: Path, wanted: Iterable[str], damage: Damage | None = None) -> dict[str, Line]:
    """For each wanted key the row that counts; keys without a row are absent."""
    keys = set(wanted)
    chosen: dict[str, Line] = {}
    for line in read_lines(folder, damage):
        if line.row.key in keys:
            before = chosen.get(line.row.key)
            if before is None or not before.row.ok:
                chosen[line.row.key] = line
    return chosen


class JournalWriter:
    """Appends rows to a segment of its own.

    One write a batch; fsync at least once a second while rows come, and at close.
    """

    def __init__(self, folder: Path, header: SegmentHeader) -> None:
        """Create the segment and write its header.

        Raises:
            FileExistsError: another writer has the same name.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{header.attempt:04d}-{header.writer}-0.jsonl"
        self._file = self.path.open("xb", buffering=0)
        self._synced = time.monotonic()
        self._write(write_line(header.model_dump(mode="json")))

    def append(self, rows: Iterable[RowResult]) -> None:
        """Add rows in one write."""
        data = b"".join(write_line(row.model_dump(mode="json")) for row in rows)
        if data:
            self._write(data)

    def _write(self, data: bytes) -> None:
        written = 0
        while written < len(data):
            written += self._file.write(data[written:]) or 0
        if time.monotonic() - self._synced >= FSYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Make what was written survive a power cut."""
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def close(self) -> None:
        """Sync and close; may be called twice."""
        if not self._file.closed:
            self.sync()
            self._file.close()

    def __enter__(self) -> JournalWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
