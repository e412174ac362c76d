"""The run's data set, and the spec that opens the same rows again."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple

from bakeoff.core.errors import BadDataset
from bakeoff.core.ports import Dataset
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset
from bakeoff.datasets.detect import detect
from bakeoff.datasets.header import shortened
from bakeoff.datasets.source import STDIN, spooled, standard_input

SPOOL = "data"


class RunData(NamedTuple):
    """An open data set and the spec that opens it from anywhere, at any later time."""

    dataset: Dataset
    spec: DatasetSpec


def open_run_data(
    spec: DatasetSpec, base: Path, folder: Path, stdin: BinaryIO | None = None
) -> RunData:
    """Open the data of a run; standard input and pipes are kept in the run's folder.

    Raises:
        BadDataset: it cannot be read as asked.
    """
    if spec.path == "-":
        return _from_stream(spec, standard_input(stdin), STDIN, folder)
    path = local_path(spec.path, base)
    if path is None:
        return RunData(open_dataset(spec, base), spec)
    if path.is_fifo():
        with path.open("rb") as stream:
            return _from_stream(spec, stream, spec.path, folder)
    path = path.resolve()
    _refuse_own_files(path, folder.resolve())
    spec = spec.model_copy(update={"path": str(path)})
    return RunData(open_dataset(spec, base), spec)


def _from_stream(spec: DatasetSpec, stream: BinaryIO, label: str, folder: Path) -> RunData:
    source = spooled(stream, label, folder / SPOOL)
    found = detect(source, spec.format, spec.encoding)
    fixed = {"path": str(source.path.resolve()), "format": found.format}
    spec = spec.model_copy(update=fixed)
    return RunData(open_dataset(spec, folder), spec)


def local_path(text: str, base: Path) -> Path | None:
    """The file, folder or pipe that is meant; None for standard input and what has a scheme.

    Raises:
        BadDataset: it can be no name of a file, or is a device, which may have no end.
    """
    if text == "-" or "://" in text:
        return None
    try:
        path = base / Path(text).expanduser()
        if stat.S_ISCHR(os.stat(path).st_mode):
            raise BadDataset("is a device: name a file, or - for standard input", file=text)
    except FileNotFoundError:
        return path
    except (ValueError, RuntimeError) as problem:  # a NUL, a lone surrogate, an unknown ~user
        raise BadDataset(f"{text!r} is no name of a file: {problem}") from problem
    except OSError as problem:
        raise BadDataset(f"cannot be read: {problem.strerror}", file=shortened(text)) from problem
    return path


def _refuse_own_files(path: Path, folder: Path) -> None:
    if folder in path.parents and folder / SPOOL not in path.parents:
        raise BadDataset(
            f"lies in {str(folder)!r}, which this run writes: copy the file, or choose another "
            "`name:`",
            file=str(path),
        )
