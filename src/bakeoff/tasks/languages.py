"""Languages as people write them: English names, ISO 639, BCP 47 or NLLB codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import langcodes
from langcodes import tag_parser
from langcodes.data_dicts import LIKELY_SUBTAGS

from bakeoff.core.errors import InvalidSpec
from bakeoff.tasks.languagenames import by_name, country_language, resembling

_SPECIAL = frozenset({"und", "mul", "mis", "zxx"})
"""Codes of ISO 639 that stand for no language."""
_GROUPS = frozenset({"sh", "hbs"})
"""Serbo-Croatian: Bosnian, Croatian, Montenegrin and Serbian."""
_GROUP_NAMES = re.compile(r"\blanguages?\b|\(family\)|\bpidgins\b", re.IGNORECASE)
_BROADER = {"nb": "no", "pbt": "ps"}
"""Languages that tokenizers mean by a broader one, beside those that CLDR replaces."""
_OWN_CODES = {"ns": "nso"}
"""Codes that checkpoints made up: M2M100's Northern Sotho."""
_OPUS = {"pt-BR": "pob"}
"""What Marian models call a variant for which ISO 639-3 has no code of its own."""
_PART_OF = {"Hang": "Kore"}
"""Scripts that belong to a language's usual mixture; NLLB calls Korean `kor_Hang`."""
_AKIN = 10
"""CLDR distance up to which two codes are taken for one language, for example arz and ar."""
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
        scripted: whether what was said fixes the script, as `zh-Hant` and `zh-TW` do.
    """

    said: str
    tag: str
    full: str
    alpha3: str
    script: str
    name: str
    scripted: bool = False

    def code_among(self, codes: Sequence[str]) -> str | None:
        """How a tokenizer with these language codes spells it, or None.

        Another script of the same language is a match only where no script was said and no other
        code is there (`ko` and NLLB's `kor_Hang`); a code without a script stands for the usual
        one. A code of the same region goes before those of none (`Dari` and NLLB's `prs_Arab`).
        """
        spelled = {_plain(code).casefold(): code for code in codes}
        exact = next((spelled[way] for way in self._spellings() if way in spelled), None)
        if exact is not None:
            return exact
        same = self.variants_among(codes)
        fitting = [(code, other) for code, other in same if self._in_script_of(other)]
        regional = [code for code, other in fitting if other.full == self.full]
        broad = [] if self.unusual else [self.tag.casefold(), self.alpha3.casefold()]
        if self.full != self.tag and regional:
            return regional[0]
        found = [spelled[way] for way in broad if way in spelled]
        found += regional + [code for code, _ in fitting]
        if found:
            return found[0]
        return same[0][0] if len(same) == 1 and not self.scripted else None

    @property
    def unusual(self) -> bool:
        """Whether what was said fixes a script that is not the language's usual one, if known."""
        usual = _script_of(self.tag)
        return self.scripted and self.tag in LIKELY_SUBTAGS and not _fits(self.script, usual)

    def variants_among(self, codes: Sequence[str]) -> list[tuple[str, Language]]:
        """Codes of this language in any script or region."""
        resolved = [(code, _resolved(_plain(code))) for code in codes]
        return [(code, other) for code, other in resolved if other and other.tag == self.tag]

    def akin(self, other: Language) -> bool:
        """Whether a model for this one may be asked for the other: one language, or nearly.

        Another script counts as another language where the other one fixes it.
        """
        unlike = other.scripted and not other._in_script_of(self)
        if unlike and (self.unusual or other.unusual):
            return False
        if self.tag == other.tag:
            return True
        near = min(
            langcodes.tag_distance(self.full, other.full),
            langcodes.tag_distance(other.full, self.full),
        )
        return bool(near <= _AKIN)

    def _spellings(self) -> list[str]:
        """Codes that say all that was said, best first."""
        ways = [
            self.said,
            _OPUS.get(self.full, ""),
            f"{self.alpha3}_{self.script}",
            "" if self.unusual else f"{self.tag}_XX",
            self.full.replace("-", "_"),
        ]
        return [way.casefold() for way in ways if way]

    def _in_script_of(self, other: Language) -> bool:
        return _fits(self.script, other.script)


@lru_cache(maxsize=256)
def language(said: str, field: str = "language") -> Language:
    """Resolve what a user wrote.

    Raises:
        InvalidSpec: no language is called that; `field` and near matches are named.
    """
    found = _resolved(said.strip())
    if found is not None:
        return found
    near = _near(said.strip()) if len(said) <= _LONGEST else []
    hint = f": did you mean {' or '.join(near)}?" if near else "."
    raise InvalidSpec(
        f"{field} is {said[:_LONGEST]!r}, which is no language{hint} Write its English name "
        "(German), an ISO 639 code (de, deu) or an NLLB code (deu_Latn)"
    )


def single_language(code: str) -> Language | None:
    """The language of a checkpoint's code; None for a group (`roa`, `mul`) or what is unknown."""
    found = None if code in _GROUPS else _resolved(code)
    return None if found is None or _GROUP_NAMES.search(found.name) else found


def _near(said: str) -> list[str]:
    """What a user may have meant: a name, the code of a country's language, a whole code."""
    first = re.split(r"[_-]", said)[0]
    if first != said and 2 <= len(first) <= 3 and first.isascii():
        meant = _resolved(first)
        code = meant and (f"{meant.alpha3}_{meant.script}" if "_" in said else meant.tag)
        return [f"{code} ({meant.name})"] if meant else []
    if len(said) == 2 and (code := country_language(said)) and (meant := _resolved(code)):
        return [f"{meant.tag} ({meant.name})"]
    return resembling(said) if len(said) > 3 and "_" not in said else []


@lru_cache(maxsize=1024)
def _resolved(said: str) -> Language | None:
    try:
        found = _by_code(_OWN_CODES.get(said, said)) or by_name(said)
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
            script=_script(found),
            name=str(short.display_name("en")),
            scripted=found.script is not None or _script(found) != _script_of(found.language),
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
    # What is left in `extlangs` is a slip: `deu_Lat`, `de-DEE`.
    if code in _SPECIAL or private or found.language is None or found.extlangs:
        return None
    return found


def _script(found: langcodes.Language) -> str:
    return str(found.maximize().script)


def _fits(script: str, other: str) -> bool:
    return other in (script, _PART_OF.get(script))


def _script_of(code: str | None) -> str:
    return _script(langcodes.Language.make(language=code))


def _without_usual_script(found: langcodes.Language) -> langcodes.Language:
    if found.script != _script_of(found.language):
        return found
    return langcodes.Language.make(language=found.language, territory=found.territory)


def _plain(code: str) -> str:
    """`>>deu<<` and `__de__` without their brackets."""
    return code.strip("<>_")
