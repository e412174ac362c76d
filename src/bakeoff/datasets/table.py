"""What a format module gives: a table of all rows, to be read again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bakeoff.core.rows import Notice
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.source import Source

MAX_RECORD = 64 * 1024 * 1024
"""Most characters of one record. A stated limit keeps a stray quote from filling the memory."""

Record = tuple[int | None, Sequence[Any]]
"""Line on which the record begins (None where there are no lines), and its cells in order."""


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of one source.

    Attributes:
        name: for people.
        file: as the user wrote it, for error messages.
        columns: names in order.
        read: starts a new pass over the records; every pass gives the same ones.
        notices: what was noticed while opening.
        revision: commit of a data set on the Hub.
    """

    name: str
    file: str
    columns: tuple[str, ...]
    read: Callable[[], Iterator[Record]]
    notices: tuple[Notice, ...] = ()
    revision: str | None = None


class Loader(Protocol):
    """Opens a file (or, for `datasets`, a folder) of one format."""

    def __call__(self, source: Source, spec: DatasetSpec) -> Table:
        """Raises `BadDataset` where the source cannot be read as asked."""


class RemoteLoader(Protocol):
    """Opens a data set that is fetched rather than read from a file."""

    def __call__(self, spec: DatasetSpec) -> Table:
        """Raises `BadDataset` where it cannot be fetched or read."""
