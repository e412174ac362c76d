"""Counts in sentences."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """`1 row`, `2 rows`; `many` where it is not `one` with an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def verb(count: int, one: str, many: str) -> str:
    """`is` or `are`, `has` or `have`, as the count wants it."""
    return one if count == 1 else many
