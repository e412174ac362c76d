"""Signs that something went wrong before a text came here; nothing is mended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# UTF-8 that was read as Latin-1 or Windows-1252 and saved again.
_MOJIBAKE = re.compile("Ã[\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹Œ‘’“”•–—˜™š›œž]|â€|Â[\xa0-\xbf]|Ð[\x80-\xbf]|ï»¿")
_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ABSENT = frozenset(("na", "n/a", "null", "none", "nan", "#n/a", "nil", "-"))
LONG = 100_000
"""Characters from which a cell is called very long."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One kind of problem.

    Attributes:
        code: stable, kebab-case.
        text: what it is, for people.
        holds: whether a text shows it.
        ascii: whether it can be in text of plain ASCII.
    """

    code: str
    text: str
    holds: Callable[[str], object]
    ascii: bool


SIGNS = (
    Sign("outer-blanks", "blanks or line breaks around the text", lambda t: t != t.strip(), True),
    Sign("spells-nothing", "words such as NA or null (kept as text)", _ABSENT.__contains__, True),
    Sign("very-long", f"more than {LONG:,} characters", lambda t: len(t) > LONG, True),
    Sign("control-characters", "control characters", _CONTROL.search, True),
    Sign(
        "replacement-characters",
        "U+FFFD, which stands where bytes were not understood",
        lambda t: "\ufffd" in t,
        False,
    ),
    Sign(
        "mojibake",
        "letters such as \u00c3\u00a9 for \u00e9: decoded wrongly before it was saved",
        _MOJIBAKE.search,
        False,
    ),
    Sign(
        "invisible",
        "invisible characters (zero width, byte-order or direction marks)",
        _INVISIBLE.search,
        False,
    ),
    Sign(
        "lone-surrogates",
        "half characters, which cannot be saved as UTF-8",
        _SURROGATE.search,
        False,
    ),
)


def signs_in(text: str) -> Iterator[Sign]:
    """What a text shows."""
    plain = text.isascii()
    for sign in SIGNS:
        if plain and not sign.ascii:
            continue
        if sign.holds(text.strip().casefold() if sign.code == "spells-nothing" else text):
            yield sign
