"""Sizes as people write them."""

from __future__ import annotations

import re
from fractions import Fraction

from bakeoff.core.errors import InvalidRequest

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_size(text: str) -> int:
    """Bytes, from `5GB`, `500 MiB` or a plain number.

    Raises:
        InvalidRequest: the text is no size.
    """
    match = re.fullmatch(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([kmgt]i?)?b?\s*", text.lower())
    if match is None:
        raise InvalidRequest(f"{text!r} is no size: write for example 5GB or 500MiB")
    unit = match[2] or ""
    return int(Fraction(match[1]) * (_BINARY.get(unit) or _UNITS[unit]))
