"""JSON: an array of objects, an object that holds one such array, or objects one after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from bakeoff.core.errors import BadDataset
from bakeoff.core.rows import Notice
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.jsoncursor import Cursor
from bakeoff.datasets.jsonvalues import kind_of
from bakeoff.datasets.objects import object_table
from bakeoff.datasets.source import Source
from bakeoff.datasets.table import Table
from bakeoff.datasets.text import Encoding, encoding_of, open_text


class _Shape(NamedTuple):
    """Where the rows are; `key` only where they lie under a key of one object."""

    kind: Literal["array", "key", "sequence"]
    key: str = ""


def open_json(source: Source, spec: DatasetSpec) -> Table:
    """A table of the objects in a JSON document, read in bounded memory."""
    encoding = encoding_of(source, spec.encoding)
    with _cursor(source, encoding) as cursor:
        shape = _shape(cursor, source.label)
    notices = {
        "array": (),
        "key": (Notice("json-key", f"the rows are the list under {shape.key!r}"),),
        "sequence": (Notice("json-sequence", "the rows are objects one after another"),),
    }[shape.kind]
    return object_table(source, lambda: _objects(source, encoding, shape), notices)


@contextmanager
def _cursor(source: Source, encoding: Encoding) -> Iterator[Cursor]:
    with open_text(source, encoding, newline=None) as stream:
        yield Cursor(stream, source.label)


def _shape(cursor: Cursor, file: str) -> _Shape:
    first = cursor.peek()
    if first == "[":
        return _Shape("array")
    if first != "{":
        what = f"{first!r}" if first else "nothing"
        raise BadDataset(
            f"a JSON file begins with [ or {{, this one with {what}", file=file, line=cursor.line
        )
    names: list[str] = []
    tables: list[str] = []
    for key in cursor.keys():
        names.append(key)
        if _is_table(cursor):
            tables.append(key)
    if cursor.peek():
        return _Shape("sequence")
    if len(tables) == 1:
        return _Shape("key", tables[0])
    raise BadDataset(_no_rows(names, tables), file=file)


def _is_table(cursor: Cursor) -> bool:
    """Takes the next value; whether it is a list of objects."""
    if cursor.peek() != "[":
        cursor.value()
        return False
    kinds = {type(value) for _, value in cursor.items()}
    return kinds == {dict}


def _no_rows(names: list[str], tables: list[str]) -> str:
    listed = ", ".join(map(repr, names[:8])) or "none"
    if tables:
        several = ", ".join(map(repr, tables))
        return f"several keys hold lists of objects ({several}): keep the rows in one file each"
    return (
        f"one object with the keys {listed}, and none holds a list of objects: write an array of "
        "objects, one for each row (for a file of one row write format: jsonl, the object on one "
        "line)"
    )


def _objects(
    source: Source, encoding: Encoding, shape: _Shape
) -> Iterator[tuple[int, dict[str, Any]]]:
    with _cursor(source, encoding) as cursor:
        for line, value in _values(cursor, shape, source.label):
            if not isinstance(value, dict):
                raise BadDataset(
                    f"{kind_of(value)} where an object is due", file=source.label, line=line
                )
            yield line, value


def _values(cursor: Cursor, shape: _Shape, file: str) -> Iterator[tuple[int, Any]]:
    if shape.kind == "array":
        yield from cursor.items()
    elif shape.kind == "sequence":
        while cursor.peek():
            line = cursor.line
            yield line, cursor.value()
    else:
        for key in cursor.keys():
            if key == shape.key:
                yield from cursor.items()
            else:
                cursor.value()
    if cursor.peek():
        raise BadDataset("text after the end of the JSON value", file=file, line=cursor.line)
