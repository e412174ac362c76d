"""Data, scripts and styles inside one HTML file, such that no text can become code."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from functools import cache
from importlib.resources import files
from typing import Any

SCRIPTS = (
    "dom.js",
    "state.js",
    "text.js",
    "diff.js",
    "leaderboard.js",
    "scatter.js",
    "query.js",
    "answer.js",
    "rows.js",
    "keys.js",
    "main.js",
)
"""In the order in which they are joined; together they are one script with one scope."""

_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def safe_json(value: Any) -> str:
    """JSON that can stand inside a script element: no `<`, `>`, `&`, no lone surrogates.

    Numbers that JSON does not know (NaN, infinities) become null.
    """
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def storable(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates and NUL become the replacement character."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


@cache
def asset(name: str) -> str:
    """A file of the folder `assets`, with Unix line ends."""
    text = (files("bakeoff.jobs.page") / "assets" / name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


@cache
def script() -> str:
    """The page's whole script, as it stands between its tags."""
    parts = "\n".join(asset(name) for name in SCRIPTS)
    return f'\n(() => {{\n"use strict";\n{parts}}})();\n'


@cache
def style() -> str:
    """The page's whole style, as it stands between its tags."""
    return f"\n{asset('page.css')}"


def policy() -> str:
    """The content security policy: this script and this style, and nothing else at all."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_source_hash(script())}'",
            f"style-src '{_source_hash(style())}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _source_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
