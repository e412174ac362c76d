"""Writing systems of a text, by Unicode block."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import lru_cache

_BLOCKS: tuple[tuple[int, int, str], ...] = (
    (0x0041, 0x005A, "Latin"),
    (0x0061, 0x007A, "Latin"),
    (0x00C0, 0x024F, "Latin"),
    (0x0370, 0x03FF, "Greek"),
    (0x0400, 0x052F, "Cyrillic"),
    (0x0530, 0x058F, "Armenian"),
    (0x0590, 0x05FF, "Hebrew"),
    (0x0600, 0x06FF, "Arabic"),
    (0x0750, 0x077F, "Arabic"),
    (0x08A0, 0x08FF, "Arabic"),
    (0x0900, 0x097F, "Devanagari"),
    (0x0980, 0x09FF, "Bengali"),
    (0x0A00, 0x0A7F, "Gurmukhi"),
    (0x0A80, 0x0AFF, "Gujarati"),
    (0x0B80, 0x0BFF, "Tamil"),
    (0x0C00, 0x0C7F, "Telugu"),
    (0x0C80, 0x0CFF, "Kannada"),
    (0x0D00, 0x0D7F, "Malayalam"),
    (0x0D80, 0x0DFF, "Sinhala"),
    (0x0E00, 0x0E7F, "Thai"),
    (0x0E80, 0x0EFF, "Lao"),
    (0x0F00, 0x0FFF, "Tibetan"),
    (0x1000, 0x109F, "Myanmar"),
    (0x10A0, 0x10FF, "Georgian"),
    (0x1100, 0x11FF, "Hangul"),
    (0x1200, 0x139F, "Ethiopic"),
    (0x1780, 0x17FF, "Khmer"),
    (0x1E00, 0x1EFF, "Latin"),
    (0x1F00, 0x1FFF, "Greek"),
    (0x3040, 0x309F, "Hiragana"),
    (0x30A0, 0x30FF, "Katakana"),
    (0x3400, 0x4DBF, "Han"),
    (0x4E00, 0x9FFF, "Han"),
    (0xAC00, 0xD7AF, "Hangul"),
    (0xF900, 0xFAFF, "Han"),
    (0xFB1D, 0xFB4F, "Hebrew"),
    (0xFB50, 0xFDFF, "Arabic"),
    (0xFE70, 0xFEFC, "Arabic"),
    (0xFF21, 0xFF5A, "Latin"),
    (0xFF66, 0xFF9D, "Katakana"),
    (0x20000, 0x2FA1F, "Han"),
)
_STARTS = [block[0] for block in _BLOCKS]
_READ = 2000
_LEAST = 0.1


@lru_cache(maxsize=8192)
def script_of(character: str) -> str | None:
    """The script of one letter; `Other` for letters of further scripts, None for no letter."""
    code = ord(character)
    place = bisect_right(_STARTS, code) - 1
    if place >= 0 and code <= _BLOCKS[place][1]:
        return _BLOCKS[place][2] if character.isalpha() else None
    return "Other" if character.isalpha() else None


def scripts_of(text: str) -> frozenset[str]:
    """Scripts with at least a tenth of the letters among the first 2,000 characters."""
    if text.isascii():
        return frozenset(("Latin",)) if any(map(str.isalpha, text)) else frozenset()
    counts: Counter[str] = Counter()
    for character, times in Counter(text[:_READ]).items():
        script = script_of(character)
        if script is not None:
            counts[script] += times
    total = counts.total()
    return frozenset(name for name, times in counts.items() if times >= total * _LEAST)
