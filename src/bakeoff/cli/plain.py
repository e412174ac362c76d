"""Text from data, models and libraries, made fit for a terminal."""

from __future__ import annotations

import re

_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """One line without control characters: line breaks and tabs as blanks, the rest as escapes.

    A cell or a model's answer could otherwise move the cursor, change colours or a window's title,
    or turn the direction of the text around.
    """
    return _ODD.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    return " " if character in "\n\r\t" else character.encode("unicode_escape").decode()
