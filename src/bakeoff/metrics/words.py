"""Words of a text in any script, and which kind of script a set of texts is written in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

import regex

_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Scripts without blanks between words. The prolonged sound marks belong to no script of their own.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc\uff70"
_SPACED_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*")
_ANY_WORD = regex.compile(
    rf"(?=[{_UNSPACED}])[\p{{L}}\p{{N}}]\p{{M}}*"
    rf"|(?:(?![{_UNSPACED}])[\p{{L}}\p{{N}}]\p{{M}}*)+"
)
_HAS_UNSPACED = regex.compile(rf"[{_UNSPACED}]")
_WORD_CHARACTER = regex.compile(r"[\p{L}\p{N}]")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}\u30fc\uff70]")
_HAN = regex.compile(r"\p{Han}")
_OTHER_UNSPACED = regex.compile(r"[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_LETTER = regex.compile(r"\p{L}")
# Joiners and soft hyphens shape a word and are not part of it.
_INVISIBLE = re.compile("[\u200c\u200d\u00ad]")

SIGNATURE = "bakeoff-words-1"
"""Name of `Words` in signatures; a change of its rules changes the number."""

Writing = Literal["spaced", "chinese", "japanese", "unspaced"]


class Words:
    """Tokenizer for any script.

    Lower case and NFC; a word is a run of letters, marks and digits, so accents stay and
    punctuation goes; Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar are cut into
    characters, each with its marks. ASCII text gives the tokens of rouge-score's default
    tokenizer without stemming.
    """

    def tokenize(self, text: str) -> list[str]:
        """The words of a text, in order."""
        lowered = text.lower()
        if lowered.isascii():
            return _ASCII_WORD.findall(lowered)
        visible = unicodedata.normalize("NFC", _INVISIBLE.sub("", lowered))
        pattern = _ANY_WORD if _HAS_UNSPACED.search(visible) else _SPACED_WORD
        found: list[str] = pattern.findall(visible)
        return found


def composed(text: str, ignore_case: bool = False) -> str:
    """A text as whole texts are compared: in Unicode's composed form (NFC), without case if asked.

    `é` is one character in one file and a letter with an accent in another.
    """
    if text.isascii():
        return text.casefold() if ignore_case else text
    if ignore_case:  # on separate marks, as Unicode defines caseless matching
        text = unicodedata.normalize("NFD", text).casefold()
    return unicodedata.normalize("NFC", text)


def has_words(text: str) -> bool:
    """Whether `Words` finds any word in a text."""
    return _WORD_CHARACTER.search(text) is not None


def writing(texts: Iterable[str]) -> Writing:
    """How most letters of some texts are written.

    `japanese` where at least half of the letters are Han or kana, and at least one in ten of
    these is kana; `chinese` where they are Han; `unspaced` where at least half are Thai, Lao,
    Khmer or Myanmar; else `spaced`.
    """
    letters = kana = han = other = 0
    for text in texts:
        if text.isascii():
            letters += sum(map(str.isalpha, text))
            continue
        letters += len(_LETTER.findall(text))
        kana += len(_KANA.findall(text))
        han += len(_HAN.findall(text))
        other += len(_OTHER_UNSPACED.findall(text))
    if letters and 2 * (kana + han) >= letters:
        return "japanese" if 10 * kana >= kana + han else "chinese"
    return "unspaced" if letters and 2 * other >= letters else "spaced"
