"""Figures of different conditions are never put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bakeoff.store.files.lines import SegmentHeader
from bakeoff.store.files.measurements import (
    Conditions,
    Measurement,
    comparable,
    read_measurements,
    write_measurement,
)

CPU = {"engine": "e", "version": "1", "device": "cpu", "dtype": "float32"}
GPU = {"engine": "e", "version": "1", "device": "cuda:0", "dtype": "bfloat16"}


def kept(folder: Path, *conditions: dict[str, Any] | None) -> list[Measurement]:
    """What is read back of one measurement an attempt, the n-th of n rows."""
    for number, values in enumerate(conditions, 1):
        under = None if values is None else Conditions(**{"threads": 2, **values})
        measured = Measurement(parts="p", conditions=under, rows=number)
        write_measurement(folder, f"{number:04d}-ab", measured)
    return read_measurements(folder, "p")


def rows_under(found: list[Measurement], values: dict[str, Any]) -> list[int]:
    header = SegmentHeader(writer="ab", attempt=1, **values)
    return [m.rows for m in comparable(found, header)]


def test_only_the_conditions_of_the_segment_count(tmp_path: Path) -> None:
    found = kept(tmp_path, CPU, GPU, CPU, None, {**CPU, "version": "2"})
    assert rows_under(found, CPU) == [1, 3]
    assert rows_under(found, GPU) == [2]
    assert rows_under(found, {**GPU, "dtype": "float32"}) == []
    assert comparable(found, None) == []


def test_of_several_numbers_of_threads_the_newest_counts(tmp_path: Path) -> None:
    found = kept(tmp_path, CPU, {**CPU, "threads": 8}, CPU, {**CPU, "threads": 8})
    assert rows_under(found, CPU) == [2, 4]
