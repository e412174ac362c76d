"""The journal of a run: segments of row results, one writer a segment.

`rows/<model id>/<attempt>-<writer>-<n>.jsonl`: line 1 is the header, then one strict JSON line a
row. A finished row is a finished row, whoever wrote it: readers take, for each key, the first
finished row (lowest attempt, then writer, then line), else the last failure.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from bakeoff.core.errors import RunDamaged
from bakeoff.core.keys import KEY_VERSION
from bakeoff.core.results import RowResult

FORMAT = 1
FSYNC_SECONDS = 1.0
_NAME = re.compile(r"^(\d{4,})-([0-9a-f]+)-(\d+)\.jsonl$")


class SegmentHeader(BaseModel):
    """Line 1 of a segment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = FORMAT
    key_version: int = KEY_VERSION
    writer: str
    attempt: int
    lease: str | None = None
    engine: str = ""
    version: str = ""
    device: str = ""
    dtype: str = ""
    parts: dict[str, Any] = Field(default_factory=dict)
    """What all rows of the segment share, see `core/keys.py`."""


class Segment(NamedTuple):
    """A segment's place in the order of reading."""

    attempt: int
    writer: str
    number: int
    path: Path


@dataclass(frozen=True, slots=True)
class Line:
    """One row as read, not yet checked."""

    header: SegmentHeader
    values: dict[str, Any]


@dataclass(slots=True)
class Damage:
    """What could not be read.

    Attributes:
        torn: segments whose last line was cut off, as a killed writer leaves it.
        broken: other lines that are no row.
    """

    torn: int = 0
    broken: int = 0


def segments(folder: Path) -> list[Segment]:
    """The segments of a model in reading order."""
    found = []
    for path in folder.glob("*.jsonl"):
        match = _NAME.match(path.name)
        if match:
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
            header = _header(file.readline(), segment.path, damage)
            if header is None:
                continue
            for raw in file:
                values = _row(raw, damage)
                if values is not None:
                    yield Line(header, values)


def _header(raw: bytes, path: Path, damage: Damage) -> SegmentHeader | None:
    if not raw.endswith(b"\n"):
        damage.torn += 1
        return None
    try:
        header = SegmentHeader.model_validate_json(raw)
    except ValueError:
        damage.broken += 1
        return None
    if header.format > FORMAT or header.key_version > KEY_VERSION:
        raise RunDamaged(f"{path} was written by a newer bakeoff (format {header.format}): upgrade")
    return header


def _row(raw: bytes, damage: Damage) -> dict[str, Any] | None:
    if not raw.endswith(b"\n"):
        damage.torn += 1
        return None
    try:
        values = json.loads(raw)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not isinstance(values.get("key"), str):
        damage.broken += 1
        return None
    return values


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
        for line in read_lines(folder, self.damage):
            self._add(line)
        self._failed -= self._finished
        for segment in segments(folder):
            self._read_epoch(segment.path)

    def _add(self, line: Line) -> None:
        key = short_key(line.values["key"])
        if line.values.get("ok") is True:
            self._finished.add(key)
        else:
            self._failed.discard(key)
            if not (line.values.get("error") or {}).get("retryable", False):
                self._failed.add(key)

    def _read_epoch(self, path: Path) -> None:
        with path.open("rb") as file:
            header = _header(file.readline(), path, Damage())
        if header is not None:
            self.epoch = max(self.epoch, int(header.parts.get("epoch") or 0))
            self.parts[json.dumps(header.parts, sort_keys=True)] = header.parts

    def settled(self, key: str) -> bool:
        """Whether the row needs no work: finished, or failed in a way that trying again repeats."""
        short = short_key(key)
        return short in self._finished or short in self._failed

    def __len__(self) -> int:
        return len(self._finished)


def short_key(key: str) -> bytes:
    """16 bytes of a key: enough to be unique, small enough for a million rows."""
    return bytes.fromhex(key[:32])


def pick_rows(folder: Path, wanted: Iterable[str], damage: Damage | None = None) -> dict[str, Line]:
    """For each wanted key the row that counts; keys without a row are absent."""
    keys = set(wanted)
    chosen: dict[str, Line] = {}
    for line in read_lines(folder, damage):
        key = line.values["key"]
        if key in keys:
            before = chosen.get(key)
            if before is None or before.values.get("ok") is not True:
                chosen[key] = line
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
        self._write(_line(header.model_dump(mode="json")))

    def append(self, rows: Iterable[RowResult]) -> None:
        """Add rows in one write."""
        data = b"".join(_line(row.model_dump(mode="json")) for row in rows)
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


def _line(values: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold: written as an escape
        return json.dumps(values, allow_nan=False, separators=(",", ":")).encode() + b"\n"
