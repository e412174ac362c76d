"""JSONL: one object a line; blank lines are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bakeoff.core.errors import BadDataset
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets.jsonvalues import BadJson, decode, kind_of
from bakeoff.datasets.objects import object_table
from bakeoff.datasets.source import Source
from bakeoff.datasets.table import Table
from bakeoff.datasets.text import Encoding, encoding_of, numbered_lines

_BLANK = " \t\r\n"


def open_jsonl(source: Source, spec: DatasetSpec) -> Table:
    """A table of JSON objects, one a line."""
    encoding = encoding_of(source, spec.encoding)
    return object_table(source, lambda: _objects(source, encoding))


def _objects(source: Source, encoding: Encoding) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in numbered_lines(source, encoding):
        text = line.strip(_BLANK)
        if text:
            yield number, _object(text, source.label, number)


def _object(text: str, file: str, line: int) -> dict[str, Any]:
    try:
        value, end = decode(text)
    except BadJson as error:
        where = f" at position {error.at + 1}" if error.at is not None else ""
        hint = _hint(text, error) if error.at is not None else ""
        raise BadDataset(
            f"not a JSON object{where}: {error}{hint}", file=file, line=line
        ) from error
    if end != len(text):
        raise BadDataset(
            f"text after the object, at position {end + 1}: write one object a line",
            file=file,
            line=line,
        )
    if not isinstance(value, dict):
        raise BadDataset(
            f'{kind_of(value)} where an object such as {{"source": "..."}} is due',
            file=file,
            line=line,
        )
    return value


def _hint(text: str, error: BadJson) -> str:
    if text.startswith("\ufeff"):
        return " (a byte-order mark stands inside the file: remove it)"
    if error.cut and text[0] in "[{":
        return " (a value over several lines? write format: json)"
    return ""
