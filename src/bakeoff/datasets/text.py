"""Text of a source: byte-order marks, declared encodings, and where bytes do not decode."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TextIO

from bakeoff.core.errors import BadDataset
from bakeoff.core.registry import unknown
from bakeoff.datasets.source import Source
from bakeoff.datasets.table import MAX_RECORD

# Longest first: the mark of UTF-32-LE begins with that of UTF-16-LE.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMMON = (
    "utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 ascii latin-1 iso-8859-1 iso-8859-2 "
    "iso-8859-5 iso-8859-7 iso-8859-15 cp437 cp850 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 "
    "cp1256 windows-1250 windows-1251 windows-1252 mac-roman koi8-r shift_jis euc-jp gb2312 gbk "
    "gb18030 big5 euc-kr"
).split()
# Python's own notations rather than encodings of files.
_NOT_FILES = {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"}
_BLOCK = 256 * 1024


class Encoding(NamedTuple):
    """How the bytes become text.

    Attributes:
        name: Python's name of the encoding, without a mark.
        mark: bytes of the byte-order mark, which is dropped.
    """

    name: str
    mark: int


def encoding_of(source: Source, declared: str | None) -> Encoding:
    """The encoding of a source: what was declared, its byte-order mark, else UTF-8.

    Raises:
        UnknownName: there is no such encoding; the message has near matches.
        BadDataset: the mark contradicts what was declared.
    """
    head = source.head(4)
    found, mark = next(((n, len(m)) for m, n in _MARKS if head.startswith(m)), (None, 0))
    if declared is None:
        return Encoding(found or "utf-8", mark)
    name = _known(declared)
    if found is None:
        if name in ("utf-16", "utf-32"):
            raise BadDataset(
                f"encoding {declared!r} wants a byte-order mark and there is none: "
                f"write encoding: {name}-le or {name}-be",
                file=source.label,
            )
        return Encoding(name, 0)
    if name not in (found, found.rsplit("-", 1)[0]) and not (found == "utf-8" == name):
        raise BadDataset(
            f"encoding {declared!r} was declared, but the file begins with the byte-order mark "
            f"of {found}: leave `encoding` away",
            file=source.label,
        )
    return Encoding(found, mark)


def _known(declared: str) -> str:
    try:
        info = codecs.lookup(declared)
    except (LookupError, ValueError):
        raise unknown("encoding", declared, _COMMON) from None
    name = info.name.replace("_", "-")
    # The attribute tells text encodings from codecs such as base64 and zip.
    if not getattr(info, "_is_text_encoding", True) or name in _NOT_FILES:
        raise unknown("encoding", declared, _COMMON)
    return "utf-8" if name == "utf-8-sig" else name


@contextmanager
def open_text(source: Source, encoding: Encoding, newline: str | None = "") -> Iterator[TextIO]:
    """The text after the mark.

    Raises:
        BadDataset: bytes do not decode; the message names line, position and byte.
    """
    try:
        with source.open() as stream:
            stream.read(encoding.mark)
            yield io.TextIOWrapper(stream, encoding=encoding.name, newline=newline)
    except UnicodeDecodeError as error:
        raise _undecodable(source, encoding) from error


def numbered_lines(source: Source, encoding: Encoding) -> Iterator[tuple[int, str]]:
    r"""Lines with their numbers from 1, each with the \n, \r\n or \r that ends it.

    Raises:
        BadDataset: bytes that do not decode, a NUL character, or a line over `MAX_RECORD`.
    """
    with open_text(source, encoding) as stream:
        for number, line in enumerate(iter(partial(stream.readline, MAX_RECORD), ""), 1):
            if len(line) >= MAX_RECORD:
                raise BadDataset(
                    f"the line has more than {MAX_RECORD:,} characters, the most of one record",
                    file=source.label,
                    line=number,
                )
            if "\0" in line:
                raise _nul(source, encoding, number, line.index("\0"))
            yield number, line


def _nul(source: Source, encoding: Encoding, line: int, at: int) -> BadDataset:
    hint = "remove it, or mend what wrote the file"
    head = source.head(1024)
    if encoding.name == "utf-8" and head.count(0) * 3 > len(head):
        order = "le" if head[1:2] == b"\0" else "be"
        hint = f"the file looks like UTF-16 without a mark: write encoding: utf-16-{order}"
    return BadDataset(f"a NUL character at position {at + 1}: {hint}", file=source.label, line=line)


class _Place:
    """Line and position of the character that comes next, both from 1."""

    def __init__(self) -> None:
        self.line = 1
        self.position = 1
        self._return = False

    def pass_over(self, text: str) -> None:
        r"""Moves behind `text`; \r\n is one break, also where two blocks meet in it."""
        if not text:
            return
        self.line += text.count("\n") + text.count("\r") - text.count("\r\n")
        self.line -= self._return and text[0] == "\n"
        self._return = text[-1] == "\r"
        start = max(text.rfind("\n"), text.rfind("\r")) + 1
        self.position = len(text) - start + (1 if start else self.position)


def _undecodable(source: Source, encoding: Encoding) -> BadDataset:
    """Reads again, block by block, up to the first bytes that do not decode."""
    decoder = codecs.getincrementaldecoder(encoding.name)("strict")
    place, offset = _Place(), encoding.mark
    with source.open() as stream:
        stream.read(encoding.mark)
        while True:
            block = stream.read(_BLOCK)
            offset += len(block)
            try:
                place.pass_over(decoder.decode(block, final=not block))
            except UnicodeDecodeError as error:
                place.pass_over(error.object[: error.start].decode(encoding.name))
                return _message(source, encoding, place, (error, offset - len(error.object)))
            if not block:
                text = f"does not decode as {encoding.name}"
                return BadDataset(text, file=source.label, line=place.line)


def _message(
    source: Source, encoding: Encoding, place: _Place, fault: tuple[UnicodeDecodeError, int]
) -> BadDataset:
    error, offset = fault
    bad = error.object[error.start : max(error.end, error.start + 1)]
    shown = " ".join(f"0x{b:02X}" for b in bad[:4])
    text = (
        f"{shown} at position {place.position} of the line (byte {offset + error.start} of the "
        f"file) is not {encoding.name}"
    )
    if encoding.name == "utf-8":
        around = error.object[max(0, error.start - 12) : error.end + 12]
        guess = " ".join(around.decode("cp1252", "replace").split())
        text += (
            ": write encoding: with the one it was saved in (cp1252, that of many spreadsheets, "
            f"reads {guess!r} there)"
        )
    else:
        text += ": declare another encoding, or leave `encoding` away for UTF-8"
    return BadDataset(text, file=source.label, line=place.line)
