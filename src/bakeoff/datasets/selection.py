"""Which rows are taken, and the data set as the layers above see it."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from itertools import islice

from bakeoff.core.canonical import canonical
from bakeoff.core.rows import Notice, Row
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.table import Record, Table

_BATCH = 256


class FileDataset:
    """The selected rows of a table; implements `bakeoff.core.ports.Dataset`."""

    def __init__(self, table: Table, spec: DatasetSpec) -> None:
        """`limit` takes the first rows; `sample` draws among those.

        The draw takes the rows whose hash with the seed is smallest: it depends on no library,
        and a larger sample holds every row of a smaller one.
        """
        self._table = table
        self._limit = spec.limit
        self._picked: frozenset[int] | None = None
        self._hash: str | None = None
        notices = list(table.notices)
        if spec.sample is not None:
            total = sum(1 for _ in self._limited())
            self._picked = _draw(total, spec.sample, spec.seed)
            if spec.sample > total:
                text = f"a sample of {spec.sample} was asked for, and there are {total} rows: all"
                notices.append(Notice("sample-too-large", f"{text} are taken", total))
        self._notices = tuple(notices)

    @property
    def name(self) -> str:
        """File name, repository, or what the stream is called."""
        return self._table.name

    @property
    def file(self) -> str:
        """The data set as the user wrote it, for error messages."""
        return self._table.file

    @property
    def revision(self) -> str | None:
        """Commit of a data set on the Hub; None for files, and where only the cache was asked."""
        return self._table.revision

    @property
    def columns(self) -> tuple[str, ...]:
        """Names in order."""
        return self._table.columns

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was noticed while opening."""
        return self._notices

    def rows(self) -> Iterator[Row]:
        """The selected rows, in the order of the file, each with its place in the file."""
        columns = self.columns
        for index, (line, cells) in self._selected():
            yield Row(index, dict(zip(columns, cells, strict=True)), line)

    def content_hash(self) -> str:
        """SHA-256 of the canonical JSON array [columns, cells of row 1, cells of row 2, ...]."""
        if self._hash is None:
            digest = hashlib.sha256(b"[" + canonical(list(self.columns)))
            cells = (list(record[1]) for _, record in self._selected())
            while batch := list(islice(cells, _BATCH)):
                digest.update(b"," + canonical(batch)[1:-1])
            digest.update(b"]")
            self._hash = digest.hexdigest()
        return self._hash

    def _limited(self) -> Iterator[Record]:
        return islice(self._table.read(), self._limit)

    def _selected(self) -> Iterator[tuple[int, Record]]:
        picked = self._picked
        for index, record in enumerate(self._limited()):
            if picked is None or index in picked:
                yield index, record


def _draw(total: int, count: int, seed: int) -> frozenset[int]:
    def key(index: int) -> bytes:
        return hashlib.blake2b(b"%d %d" % (seed, index), digest_size=16).digest()

    return frozenset(heapq.nsmallest(count, range(total), key=key))
