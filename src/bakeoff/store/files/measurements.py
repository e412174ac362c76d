"""What a run measured of a model: throughput and latency, kept beside its journal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bakeoff.core.report import LatencySummary
from bakeoff.store.files.atomic import write_text
from bakeoff.store.files.lines import SegmentHeader


class Conditions(BaseModel):
    """Under what something was measured: figures of different ones are never put together."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: str
    version: str
    device: str
    dtype: str
    threads: int
    """CPU threads that the engine was given, or cores of the machine."""


class Measurement(BaseModel):
    """One attempt's figures; `parts` tells which settings they belong to."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parts: str
    """Digest of the settings, the task and the prompt."""
    conditions: Conditions | None = None
    seconds: float = 0.0
    """Of generation."""
    rows: int = 0
    completion_tokens: int = 0
    prompt_tokens: int = 0
    batch_sum: int = 0
    """Sum over rows of how many shared the batch."""
    latency: LatencySummary | None = None
    notices: tuple[tuple[str, str], ...] = ()
    """Code and text of what was noticed while loading."""


def write_measurement(folder: Path, name: str, measured: Measurement) -> None:
    """Keep figures under a name of the attempt's own."""
    write_text(folder / f"{name}.measured.json", measured.model_dump_json() + "\n")


def read_measurements(folder: Path, parts: str) -> list[Measurement]:
    """All figures under these settings, oldest first; unreadable files are passed over."""
    found = []
    for path in sorted(folder.glob("*.measured.json")):
        if not path.is_file():
            continue
        try:
            measured = Measurement.model_validate_json(path.read_bytes())
        except ValueError:
            continue
        if measured.parts == parts:
            found.append(measured)
    return found


def comparable(measured: Sequence[Measurement], header: SegmentHeader | None) -> list[Measurement]:
    """The figures under the conditions of a segment; of several sets of them, the newest."""
    if header is None:
        return []
    names = ("engine", "version", "device", "dtype")
    wanted = [getattr(header, name) for name in names]
    newest = next(
        (
            m.conditions
            for m in reversed(measured)
            if m.conditions is not None and [getattr(m.conditions, n) for n in names] == wanted
        ),
        None,
    )
    return [m for m in measured if newest is not None and m.conditions == newest]
