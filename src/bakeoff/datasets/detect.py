"""Which format a file has: by the ending of its name, else by its content."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from bakeoff.core.errors import BadDataset
from bakeoff.datasets.jsonvalues import BadJson, decode
from bakeoff.datasets.source import Source
from bakeoff.datasets.text import encoding_of

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
# First bytes of files that are no text, and what to do with them.
_MAGIC = (
    (b"PAR1", "a Parquet file: write format: parquet"),
    (b"PK\x03\x04", "a zip file, as Excel workbooks are: save the sheet as CSV, or unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file: save the sheet as CSV"),
    (b"ARROW1", "an Arrow file: save it as Parquet"),
    (b"SQLite format 3", "an SQLite database: export the table as CSV"),
    (b"%PDF", "a PDF"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it"),
    (b"BZh", "compressed with bzip2: unpack it"),
    (b"\xfd7zXZ", "compressed with xz: unpack it"),
)
_HEAD = 64 * 1024
_BREAK = re.compile(r"[\r\n]")


class Detected(NamedTuple):
    """A format and how it is known.

    Attributes:
        guessed: whether only the content says so.
    """

    format: str
    guessed: bool


def detect(source: Source, declared: str | None, encoding: str | None) -> Detected:
    """The format that was declared, that the name ends in, or that the content shows.

    Raises:
        BadDataset: the file is empty, or its content is plainly something else.
    """
    head = source.head(_HEAD)
    if not head:
        raise BadDataset("the file is empty", file=source.label)
    by_name = _ending(source)
    expected = declared or by_name
    if expected == "parquet":
        return Detected("parquet", guessed=False)
    if head.startswith(b"PAR1") and expected is None:
        return Detected("parquet", guessed=True)
    for magic, what in _MAGIC:
        if head.startswith(magic):
            raise BadDataset(f"this is {what}", file=source.label)
    if declared:
        return Detected(declared, guessed=False)
    seen = _by_content(source, head, encoding)
    if by_name is None:
        return Detected(seen or "csv", guessed=True)
    if by_name in ("csv", "tsv") and seen:
        raise BadDataset(
            f"the name ends as a {by_name.upper()} file does, but the content is JSON: write "
            f"format: {seen}",
            file=source.label,
        )
    return Detected(by_name, guessed=False)


def _ending(source: Source) -> str | None:
    # A spool file has no ending, so a stream is known by its content alone.
    name = source.path.name.casefold().removesuffix(".gz")
    return next((f for ending, f in _ENDINGS.items() if name.endswith(ending)), None)


def _by_content(source: Source, head: bytes, declared: str | None) -> str | None:
    """`json` or `jsonl` where the first value shows it, else None."""
    encoding = encoding_of(source, declared)
    text = head[encoding.mark :].decode(encoding.name, "ignore").lstrip(" \t\r\n")
    if text[:1] == "[":
        return "json" if text[1:].lstrip(" \t\r\n")[:1] in ("{", "]", "") else None
    if text[:1] != "{":
        return None
    line, *rest = _BREAK.split(text, maxsplit=1)
    try:
        value, end = decode(line)
    except BadJson as error:
        # A CSV header may begin with a brace; an object over several lines is cut here.
        key = text[1:].lstrip(" \t\r\n")[:1]
        return "json" if error.cut and key in ('"', "}", "") else None
    if line[end:].strip():
        return None
    alone = not any(part.strip() for part in rest) and len(head) < _HEAD
    return "json" if alone and _wraps_rows(value) else "jsonl"


def _wraps_rows(value: dict[str, Any]) -> bool:
    """Whether one object holds the rows rather than being one."""
    lists = (item for item in value.values() if isinstance(item, list) and item)
    return any(all(isinstance(row, dict) for row in rows) for rows in lists)
