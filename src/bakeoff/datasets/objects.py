"""A table from JSON objects: the columns are all keys, in the order in which they first appear."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bakeoff.core.errors import BadDataset
from bakeoff.core.plural import verb
from bakeoff.core.rows import Notice
from bakeoff.datasets.header import check_columns
from bakeoff.datasets.source import Source
from bakeoff.datasets.table import Record, Table

ReadObjects = Callable[[], Iterator[tuple[int, dict[str, Any]]]]
"""Starts a pass over (line, object)."""


def object_table(source: Source, read: ReadObjects, notices: tuple[Notice, ...] = ()) -> Table:
    """Reads all objects once for their keys; a key that a row lacks is None there.

    Raises:
        BadDataset: there is no row, an object cannot be read, or a key is blank.
    """
    keys: dict[str, int] = {}
    rows, nameless = 0, None
    for line, value in read():
        rows += 1
        for key in value:
            if key not in keys and not key.strip():
                nameless = nameless or line
            keys[key] = keys.get(key, 0) + 1
    if not rows:
        raise BadDataset("there are no rows in it", file=source.label)
    if not keys:
        raise BadDataset("its objects have no keys, so there are no columns", file=source.label)
    columns = tuple(keys)
    found = [*notices, *check_columns(columns, source.label, nameless)]
    found += [
        Notice(
            "missing-keys",
            f"{rows - n} of {rows} rows {verb(rows - n, 'has', 'have')} no {key!r}",
            rows - n,
        )
        for key, n in keys.items()
        if n < rows
    ]
    return Table(source.name, source.label, columns, lambda: _cells(read, columns), tuple(found))


def _cells(read: ReadObjects, columns: tuple[str, ...]) -> Iterator[Record]:
    for line, value in read():
        yield line, [value.get(key) for key in columns]
