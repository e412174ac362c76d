"""The lines of a journal: how a row is written, and what counts as one when it is read."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bakeoff.core.errors import RunDamaged
from bakeoff.core.keys import KEY_VERSION
from bakeoff.core.results import RowResult

FORMAT = 1
_KEY = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**63 - 1


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
    asked: dict[str, Any] = Field(default_factory=dict)
    """Task, prompt and columns behind its rows; empty where an older bakeoff wrote it."""

    @property
    def epoch(self) -> int:
        """How often all rows were made anew; 0 where the parts hold no number."""
        found = self.parts.get("epoch")
        return found if isinstance(found, int) else 0


@dataclass(slots=True)
class Damage:
    """What could not be read.

    Attributes:
        torn: segments whose last line was cut off, as a killed writer leaves it.
        broken: other lines that are no row.
    """

    torn: int = 0
    broken: int = 0


def write_line(values: dict[str, Any]) -> bytes:
    """One line of strict JSON."""
    try:
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold: written as an escape
        return json.dumps(values, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def read_header(raw: bytes, path: Path, damage: Damage) -> SegmentHeader | None:
    """The header in a segment's first line, or None where it cannot be read.

    Raises:
        RunDamaged: a newer bakeoff wrote it.
    """
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


def read_row(raw: bytes, damage: Damage) -> RowResult | None:
    """The row in a line, or None where it is no row; a file edited by hand may hold anything."""
    if not raw.endswith(b"\n"):
        damage.torn += 1
        return None
    row = _parsed(raw)
    if row is None or not _sound(row):
        damage.broken += 1
        return None
    return row


def _parsed(raw: bytes) -> RowResult | None:
    try:
        return RowResult.model_validate_json(raw)
    except ValidationError as problem:
        if problem.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            return None
    try:  # the fast parser refuses lone surrogates
        return RowResult.model_validate(json.loads(raw, parse_constant=_refuse))
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _sound(row: RowResult) -> bool:
    """What the types do not say: the key is a hash, a row has a text or an error, numbers fit."""
    usage, timing = row.usage, row.timing
    counts = (usage.prompt, usage.cut, usage.cached, usage.completion, row.repeat, row.concurrency)
    return (
        _KEY.fullmatch(row.key) is not None
        and (row.text if row.ok else row.error) is not None
        and all(0 <= count <= _LARGEST for count in counts)
        and _finite([timing.queued, timing.first_token, timing.done])
        and _finite(row.extra)
    )


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    return all(map(_finite, value)) if isinstance(value, list) else True
