"""`open_dataset`: one door for files, folders, streams and data sets on the Hub."""

from __future__ import annotations

import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from bakeoff.core.errors import BadDataset, UnsupportedOption
from bakeoff.core.registry import Registry, near_matches
from bakeoff.core.rows import Notice
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.detect import Detected, detect
from bakeoff.datasets.header import shortened
from bakeoff.datasets.selection import FileDataset
from bakeoff.datasets.source import STDIN, Source, spooled, standard_input
from bakeoff.datasets.table import Loader, RemoteLoader, Table

FORMATS: Registry[Loader] = Registry(
    "data format",
    {
        "csv": "bakeoff.datasets.delimited:open_csv",
        "tsv": "bakeoff.datasets.delimited:open_tsv",
        "jsonl": "bakeoff.datasets.jsonlines:open_jsonl",
        "json": "bakeoff.datasets.jsondoc:open_json",
        "parquet": "bakeoff.datasets.parquet:open_parquet",
        "datasets": "bakeoff.datasets.saved:open_saved",
    },
)
REMOTES: Registry[RemoteLoader] = Registry("data address", {"hf": "bakeoff.datasets.hub:open_hub"})
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")
# Options that only some doors can honour; the others refuse them by name.
_TAKES = {
    "csv": {"encoding", "delimiter"},
    "tsv": {"encoding", "delimiter"},
    "jsonl": {"encoding"},
    "json": {"encoding"},
    "parquet": set[str](),
    "datasets": {"split"},
    "hf": {"split", "config", "revision"},
}


def open_dataset(
    spec: DatasetSpec, base: Path, stdin: BinaryIO | None = None, spool: Path | None = None
) -> FileDataset:
    """Opens a data set; rows are read when they are asked for, as often as they are asked for.

    Args:
        spec: where the rows come from and which are taken.
        base: folder that a relative path starts from.
        stdin: what `-` reads; default: the process's standard input.
        spool: folder that keeps what was read from a stream, named by its content; default: a
            temporary file, removed with the data set.

    Raises:
        BadDataset: it cannot be read as asked; the message names file, line and column.
        UnsupportedOption: an option that this kind of data set does not have.
        UnknownName: an unknown encoding.
        DependencyMissing: the Hub is asked and the `datasets` library is not installed.
    """
    scheme = _SCHEME.match(spec.path)
    if scheme and scheme[1] != "file":
        return FileDataset(_remote(spec, scheme[1]), spec)
    source = _source(spec.path, base, stdin, spool)
    if source.path.is_dir():
        if spec.format not in (None, "datasets"):
            raise BadDataset(f"is a folder, and format: {spec.format} a file", file=source.label)
        found = Detected("datasets", guessed=False)
    else:
        found = detect(source, spec.format, spec.encoding)
    _refuse_options(spec, found.format)
    table = FORMATS.get(found.format)(source, spec)
    return FileDataset(_guessed(table, source, found) if found.guessed else table, spec)


def _guessed(table: Table, source: Source, found: Detected) -> Table:
    """Says what the content was taken for; a list of lines in a file is not taken for a table."""
    name = found.format
    if name == "csv" and len(table.columns) == 1 and not source.stream:
        raise BadDataset(
            f"neither the ending of the name nor the content says the format: write format: csv "
            f"if the first line ({shortened(table.columns[0])!r}) is the name of a column",
            file=source.label,
        )
    listed = ", ".join(repr(shortened(column)) for column in table.columns[:6])
    text = f"read as {name} with the columns {listed}, as the content shows"
    notice = Notice("format-guessed", f"{text}; write format: {name} to be sure")
    return replace(table, notices=(notice, *table.notices))


def _remote(spec: DatasetSpec, scheme: str) -> Table:
    if scheme not in REMOTES:
        raise BadDataset(
            f"{scheme}:// is no address of a data set: write a file, a folder, "
            "hf://datasets/org/name, or - for standard input",
            file=re.sub(r"//[^/@\s]+@", "//***@", spec.path).partition("?")[0],
        )
    _refuse_options(spec, scheme)
    return REMOTES.get(scheme)(spec)


def _refuse_options(spec: DatasetSpec, name: str) -> None:
    for option in ("encoding", "delimiter", "split", "config", "revision"):
        if getattr(spec, option) is not None and option not in _TAKES[name]:
            takers = ", ".join(n for n, taken in _TAKES.items() if option in taken)
            raise UnsupportedOption(
                f"dataset option {option!r} does not apply to {name} ({spec.path!r}); it applies "
                f"to: {takers}",
                option=option,
            )
    if name == "hf" and spec.format is not None:
        raise UnsupportedOption(
            f"dataset option 'format' does not apply to {spec.path!r}: the Hub says the format",
            option="format",
        )


def _source(path: str, base: Path, stdin: BinaryIO | None, spool: Path | None) -> Source:
    if path == "-":
        return spooled(standard_input(stdin), STDIN, spool)
    found = _local(path, base)
    try:
        mode = found.stat().st_mode
    except OSError as error:
        raise _missing(path, found, error) from error
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return Source(found, path, found.name)
    if stat.S_ISCHR(mode):  # it may have no end
        raise BadDataset("is a device: name a file, or - for standard input", file=path)
    if not stat.S_ISFIFO(mode):
        raise BadDataset("is neither a file nor a folder", file=path)
    with found.open("rb") as stream:
        return spooled(stream, path, spool)


def _local(path: str, base: Path) -> Path:
    if path.startswith("file://"):
        parts = urlsplit(path)
        if parts.netloc not in ("", "localhost"):
            raise BadDataset("file:// names this machine only: file:///folder/name", file=path)
        path = unquote(parts.path)
    try:
        return base / Path(path).expanduser()
    except RuntimeError as error:
        raise BadDataset(f"cannot be found: {error}", file=path) from error


def _missing(path: str, found: Path, error: OSError) -> BadDataset:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        return BadDataset(f"cannot be read: {error.strerror or error}", file=path)
    folder = found.parent
    if not folder.is_dir():
        return BadDataset(f"there is no folder {str(folder)!r}", file=path)
    near = near_matches(found.name, [entry.name for entry in folder.iterdir()])
    hint = f": did you mean {' or '.join(map(repr, near))}?" if near else ""
    return BadDataset(f"there is no such file or folder in {str(folder)!r}{hint}", file=path)
