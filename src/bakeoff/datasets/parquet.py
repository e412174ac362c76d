"""Parquet files, read in batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from bakeoff.core.errors import BadDataset
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.arrow import BATCH, check_types, records
from bakeoff.datasets.header import check_columns
from bakeoff.datasets.source import Source
from bakeoff.datasets.table import Record, Table


def open_parquet(source: Source, spec: DatasetSpec) -> Table:
    """A table from one Parquet file."""
    if source.compressed:
        raise BadDataset("a Parquet file inside gzip: unpack it", file=source.label)
    with _file(source) as file:
        schema = file.schema_arrow
        count = file.metadata.num_rows
    columns = tuple(schema.names)
    notices = check_columns(columns, source.label)
    check_types(schema, source.label)
    if not count:
        raise BadDataset("there are no rows in it", file=source.label)
    return Table(source.name, source.label, columns, lambda: _rows(source), notices)


@contextmanager
def _file(source: Source) -> Iterator[pq.ParquetFile]:
    try:
        with source.open() as stream, pq.ParquetFile(stream) as file:
            yield file
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise BadDataset(f"not a readable Parquet file: {reason}", file=source.label) from error


def _rows(source: Source) -> Iterator[Record]:
    with _file(source) as file:
        yield from records(file.iter_batches(batch_size=BATCH), source.label)
