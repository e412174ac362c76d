"""Languages as people write them: English names, ISO 639, BCP 47 or NLLB codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import langcodes
from langcodes import tag_parser
from language_data.names import load_trie, normalize_name
from language_data.util import data_filename

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.registry import near_matches

_SPECIAL = frozenset({"und", "mul", "mis", "zxx"})
"""Codes of ISO 639 that stand for no language."""
_BROADER = {"nb": "no", "pbt": "ps"}
"""Languages that tokenizers mean by a broader one, beside those that CLDR replaces."""
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Language:
    """A language, resolved once.

    Attributes:
        said: what the user wrote.
        tag: BCP 47 language alone, a macrolanguage where there is one, for example `de`, `ar`.
        full: with region, and script where it is not the usual one, for example `pt-BR`.
        alpha3: ISO 639-3, for example `deu`.
        script: ISO 15924 of its usual writing, for example `Latn`.
        name: in English, for prompts.
    """

    said: str
    tag: str
    full: str
    alpha3: str
    script: str
    name: str

    def code_among(self, codes: Sequence[str]) -> str | None:
        """How a tokenizer with these language codes spells it, or None.

        Another script of the same language is no match.
        """
        wanted = (
            self.said,
            f"{self.alpha3}_{self.script}",
            f"{self.tag}_XX",
            self.full.replace("-", "_"),
            self.tag,
            self.alpha3,
        )
        spelled = {_plain(code).casefold(): code for code in codes}
        for code in wanted:
            if code.casefold() in spelled:
                return spelled[code.casefold()]
        for code in codes:
            other = _resolved(_plain(code))
            if other is not None and (other.tag, other.script) == (self.tag, self.script):
                return code
        return None


@lru_cache(maxsize=256)
def language(said: str, field: str = "language") -> Language:
    """Resolve what a user wrote.

    Raises:
        InvalidSpec: no language is called that; `field` and near matches are named.
    """
    found = _resolved(said.strip())
    if found is not None:
        return found
    worth_a_guess = 3 < len(said) <= _LONGEST and "_" not in said
    near = near_matches(normalize_name(said), _english_names()) if worth_a_guess else []
    hint = f": did you mean {' or '.join(n.title() for n in near)}?" if near else "."
    raise InvalidSpec(
        f"{field} is {said[:_LONGEST]!r}, which is no language{hint} Write its English name "
        "(German), an ISO 639 code (de, deu) or an NLLB code (deu_Latn)"
    )


@lru_cache(maxsize=1024)
def _resolved(said: str) -> Language | None:
    try:
        found = _by_code(said) or _by_name(said)
        if found is None:
            return None
        broad = found.prefer_macrolanguage()
        tag = str(broad.language)
        short = _without_usual_script(broad)
        return Language(
            said=said,
            tag=_BROADER.get(tag, tag),
            full=short.to_tag(),
            alpha3=found.to_alpha3(),
            script=str(found.maximize().script),
            name=str(short.display_name("en")),
        )
    except (LookupError, tag_parser.LanguageTagError):
        return None


def _by_code(said: str) -> langcodes.Language | None:
    plain = said.replace("_", "-").removesuffix("-XX")
    if not 2 <= len(plain.split("-")[0]) <= 3 or not langcodes.tag_is_valid(plain):
        return None
    found = langcodes.get(plain, normalize=True)
    code = str(found.language)
    private = "qaa" <= code <= "qtz" and len(code) == 3
    return None if code in _SPECIAL or private or found.language is None else found


def _by_name(said: str) -> langcodes.Language | None:
    """Whole names only: the library itself would take "Germanesque" for German."""
    name = normalize_name(said)
    if len(name) < 3 and name.isascii():
        return None
    names = _names("und")
    return langcodes.get(names[name][0].decode("utf-8")) if name in names else None


def _without_usual_script(found: langcodes.Language) -> langcodes.Language:
    if found.script != langcodes.get(found.language).maximize().script:
        return found
    return langcodes.Language.make(language=found.language, territory=found.territory)


def _plain(code: str) -> str:
    """`>>deu<<` and `__de__` without their brackets."""
    return code.strip("<>_")


@lru_cache(maxsize=4)
def _names(of: str) -> Any:
    return load_trie(data_filename(f"trie/{of}/name_to_language.marisa"))


def _english_names() -> tuple[str, ...]:
    return tuple(_names("en").keys())
