"""Arrow columns as plain cells: text, numbers, booleans, None, lists and objects of these."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.core.errors import BadDataset
from bakeoff.datasets.table import Record

BATCH = 512


def check_types(schema: pa.Schema, file: str) -> None:
    """Refuses columns that hold no text, number, date, list or object.

    Raises:
        BadDataset: names the column and its type.
    """
    for field in schema:
        bad = _unreadable(field.type)
        if bad is not None:
            raise BadDataset(
                f"the type {bad} cannot be read as text or a number: leave the column out, or "
                "save it as text",
                file=file,
                column=field.name,
            )


class Infinite(ValueError):
    """A number that JSON cannot write."""


def records(batches: Iterable[Any], file: str) -> Iterator[Record]:
    """Rows of record batches or of tables, each of which should be small.

    Raises:
        BadDataset: a column holds an infinite number.
    """
    start = 1
    for batch in batches:
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            array = _whole(column)
            try:
                columns.append(cells(array))
            except Infinite:
                text = f"an infinite number in row {start + _infinite(array)}"
                text += ": write null, or a number"
                raise BadDataset(text, file=file, column=name) from None
        start += batch.num_rows
        for row in zip(*columns, strict=True):
            yield None, row


def _infinite(array: pa.Array) -> int:
    """Place of the first row with a number that `cells` refuses."""
    for at in range(len(array)):
        try:
            cells(array.slice(at, 1))
        except Infinite:
            return at
    raise ValueError("there is no infinite number")


def _whole(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def cells(array: pa.Array) -> list[Any]:
    """Plain values of one array."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return cells(array.storage)
    if pa.types.is_dictionary(kind):
        return cells(array.dictionary_decode())
    if _is_list(kind):
        flat = iter(cells(pc.list_flatten(array)))
        sizes = pc.list_value_length(array).to_pylist()
        return [None if size is None else list(islice(flat, size)) for size in sizes]
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        fields = [cells(field) for field in array.flatten()]
        valid = array.is_valid().to_pylist()
        rows = zip(*fields, strict=True) if fields else iter([()] * len(array))
        return [
            dict(zip(names, row, strict=True)) if there else None
            for there, row in zip(valid, rows, strict=True)
        ]
    return _leaf(kind)(array)


def _is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _plain(array: pa.Array) -> list[Any]:
    return list(array.to_pylist())


def _floats(array: pa.Array) -> list[Any]:
    """NaN, which tables write for a missing number, is None; float32 keeps its short form."""
    plain = array.to_pylist()
    if not pa.types.is_float64(array.type):
        short = iter(array.drop_null().to_numpy(zero_copy_only=False))
        plain = [None if value is None else float(str(next(short))) for value in plain]
    if any(value is not None and math.isinf(value) for value in plain):
        raise Infinite
    return [None if value is None or math.isnan(value) else value for value in plain]


def _decimals(array: pa.Array) -> list[Any]:
    return [None if v is None else format(v, "f") for v in array.to_pylist()]


def _times(array: pa.Array) -> list[Any]:
    """ISO 8601; with a time zone in UTC and ending in Z. Zeros that end a fraction are left out."""
    kind = array.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        array = array.cast(pa.timestamp(kind.unit, "UTC")).cast(pa.timestamp(kind.unit))
        zone = "Z"
    else:
        zone = ""
    texts = array.cast(pa.string()).to_pylist()
    return [None if text is None else _iso(text) + zone for text in texts]


def _iso(text: str) -> str:
    text = text.replace(" ", "T", 1)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _leaf(kind: pa.DataType) -> Callable[[pa.Array], list[Any]]:
    types = pa.types
    if types.is_floating(kind):
        return _floats
    if types.is_decimal(kind):
        return _decimals
    if types.is_temporal(kind) and not types.is_duration(kind) and not types.is_interval(kind):
        return _times
    return _plain


def _unreadable(kind: pa.DataType) -> str | None:
    """The part of a type that cannot be read, or None."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _unreadable(kind.storage_type)
    if types.is_dictionary(kind) or _is_list(kind):
        return _unreadable(kind.value_type)
    if types.is_struct(kind):
        parts = (_unreadable(kind.field(i).type) for i in range(kind.num_fields))
        return next((part for part in parts if part is not None), None)
    if types.is_duration(kind) or types.is_interval(kind):
        return str(kind)
    if types.is_null(kind) or types.is_boolean(kind) or types.is_primitive(kind):
        return None
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return None if text or types.is_decimal(kind) else str(kind)
