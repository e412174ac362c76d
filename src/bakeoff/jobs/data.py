"""The run's data set, and the spec that opens the same rows again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO, NamedTuple

from bakeoff.core.ports import Dataset
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset
from bakeoff.datasets.detect import detect
from bakeoff.datasets.source import spooled


class RunData(NamedTuple):
    """An open data set and the spec that opens it from anywhere, at any later time."""

    dataset: Dataset
    spec: DatasetSpec


def open_run_data(
    spec: DatasetSpec, base: Path, folder: Path, stdin: BinaryIO | None = None
) -> RunData:
    """Open the data of a run; standard input is kept in the run's folder.

    Raises:
        BadDataset: it cannot be read as asked.
    """
    if spec.path == "-":
        source = spooled(stdin or sys.stdin.buffer, "standard input", folder / "data")
        found = detect(source, spec.format, spec.encoding)
        fixed = {"path": str(source.path.resolve()), "format": found.format}
        spec = spec.model_copy(update=fixed)
    elif "://" not in spec.path:
        spec = spec.model_copy(
            update={"path": str((base / Path(spec.path).expanduser()).resolve())}
        )
    dataset = open_dataset(spec, base)
    if dataset.revision is not None:
        spec = spec.model_copy(update={"revision": dataset.revision})
    return RunData(dataset, spec)
