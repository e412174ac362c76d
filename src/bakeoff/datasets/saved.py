"""A folder that the `datasets` library saved with `save_to_disk`, read through pyarrow alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from bakeoff.core.errors import BadDataset
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.arrow import BATCH, check_types, records
from bakeoff.datasets.header import check_columns
from bakeoff.datasets.source import Source
from bakeoff.datasets.table import Record, Table

_READABLE = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".gz")


def open_saved(source: Source, spec: DatasetSpec) -> Table:
    """A table from a saved data set, or from one split of a saved dictionary of them.

    Raises:
        BadDataset: another folder, several splits and none named, or damaged files.
    """
    folder = source.path
    index = folder / "dataset_dict.json"
    if index.is_file():
        folder = folder / _split(_json(index, source), spec.split, source)
    elif spec.split is not None:
        raise BadDataset(
            f"the folder holds one data set without splits: leave split: {spec.split} away",
            file=source.label,
        )
    state = folder / "state.json"
    if not state.is_file():
        raise BadDataset(_other_folder(source.path), file=source.label)
    files = _data_files(folder, _json(state, source), source)
    with _reader(files[0], source) as first:
        schema = first.schema
    columns = tuple(schema.names)
    notices = check_columns(columns, source.label)
    check_types(schema, source.label)
    table = Table(source.name, source.label, columns, lambda: _rows(files, source), notices)
    if next(table.read(), None) is None:
        raise BadDataset("there are no rows in it", file=source.label)
    return table


def _json(path: Path, source: Source) -> dict[str, Any]:
    try:
        with source.reading():
            value = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise BadDataset(f"{path.name} is damaged: {error}", file=source.label) from error
    if not isinstance(value, dict):
        raise BadDataset(f"{path.name} is damaged: no object", file=source.label)
    return value


def _split(index: dict[str, Any], wanted: str | None, source: Source) -> str:
    splits = [str(name) for name in index.get("splits") or ()]
    listed = ", ".join(splits) or "none"
    if wanted is None and len(splits) == 1:
        wanted = splits[0]
    if wanted is None:
        raise BadDataset(f"several splits: write split: with one of {listed}", file=source.label)
    if wanted not in splits:
        raise BadDataset(f"there is no split {wanted!r}; there are: {listed}", file=source.label)
    return _inside(wanted, source)


def _data_files(folder: Path, state: dict[str, Any], source: Source) -> list[Path]:
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise BadDataset(
            "saved with an index beside the rows: call flatten_indices() and save it again",
            file=source.label,
        )
    entries = state.get("_data_files")
    listed = entries if isinstance(entries, list) else []
    names = [entry.get("filename") for entry in listed if isinstance(entry, dict)]
    if not names or not all(isinstance(name, str) for name in names):
        raise BadDataset("state.json names no data files", file=source.label)
    return [folder / _inside(str(name), source) for name in names]


def _inside(name: str, source: Source) -> str:
    """Names come from a file; they may only point into its own folder."""
    if Path(name).name != name or name in ("", ".", ".."):
        raise BadDataset(f"a file name outside the folder: {name!r}", file=source.label)
    return name


@contextmanager
def _reader(path: Path, source: Source) -> Iterator[Any]:
    try:
        with (
            source.reading(),
            pa.memory_map(str(path)) as mapped,
            pa.ipc.open_stream(mapped) as reader,
        ):
            yield reader
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise BadDataset(f"{path.name} is damaged: {reason}", file=source.label) from error


def _rows(files: list[Path], source: Source) -> Iterator[Record]:
    return records(_batches(files, source), source.label)


def _batches(files: list[Path], source: Source) -> Iterator[Any]:
    for path in files:
        with _reader(path, source) as reader:
            for batch in reader:
                yield from (batch.slice(s, BATCH) for s in range(0, batch.num_rows, BATCH))


def _other_folder(folder: Path) -> str:
    found = sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.suffix.casefold() in _READABLE
    )
    if not found:
        return "a folder without state.json: name a data file, or a folder that save_to_disk wrote"
    listed = ", ".join(map(repr, found[:5])) + (", ..." if len(found) > 5 else "")
    return f"a folder, and not one that save_to_disk wrote: name one of its files: {listed}"
