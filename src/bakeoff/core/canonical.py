"""Strict JSON and content hashes: the same value always gives the same bytes."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def dumps(value: Any) -> str:
    """One line of strict JSON: no NaN, no infinity, text as UTF-8 rather than escapes.

    Raises:
        ValueError: the value holds NaN or an infinity.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def canonical(value: Any) -> bytes:
    """JSON with sorted keys, as bytes; lone surrogates survive.

    JSON is unambiguous, so two different values never share these bytes.
    """
    text = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True
    )
    return text.encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """SHA-256 over `canonical(value)`, 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()
