"""Names of languages: which code a name stands for, and which names a misspelt one resembles."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import Any

import langcodes
from language_data.names import load_trie, normalize_name
from language_data.util import data_filename

from bakeoff.core.registry import near_matches

_QUALIFIED = re.compile(r"^(?P<name>[^()]+?)\s*\((?P<of>.+)\)$")
"""`Chinese (Traditional)`, `Portuguese (Brazil)`."""
_CODE = re.compile(r"(?P<script>[A-Za-z]{4})|(?P<territory>[A-Za-z]{2}|\d{3})")
"""`English (US)`, `Serbian (Latn)`."""
_CLOSE = 0.75
"""How much a slip resembles the widely known name that was meant (difflib's ratio)."""


def by_name(said: str) -> langcodes.Language | None:
    """The language with this English name, or with this name in the language itself.

    Whole names only, and no third language's: the library would take "Germanesque" for German and
    the Afrikaans "Portugese" for Portuguese, which is more likely a slip.
    """
    name = normalize_name(said)
    if len(name) < 3 and name.isascii():
        return None
    found = _tag(_english(), name)
    if found is None and name in _names("und"):
        tag = _tag(_names("und"), name) or ""
        found = tag if name in _names(tag.split("-")[0]) else None
    return langcodes.get(found) if found else _qualified(said)


def resembling(said: str) -> list[str]:
    """English names that a misspelt name resembles, best first; widely known ones before others."""
    name = normalize_name(said)
    near = difflib.get_close_matches(name, _known(), cutoff=_CLOSE)
    near = near or near_matches(name, tuple(_english().keys()))
    return [found.title() for found in near]


def country_language(code: str) -> str | None:
    """The language of a country whose code was written in place of a language's: `jp` -> `ja`."""
    if not re.fullmatch(r"[A-Za-z]{2}", code):
        return None
    country = langcodes.Language.make(territory=code.upper())
    found = str(country.maximize().language)
    # CLDR guesses English for whatever it does not know.
    return None if found == "en" else found


def _qualified(said: str) -> langcodes.Language | None:
    match = _QUALIFIED.match(said.strip())
    if match is None:
        return None
    plain = _tag(_english(), normalize_name(match["name"]))
    if plain is None:
        return None
    of, base = normalize_name(match["of"]), langcodes.get(plain)
    script = _tag(_names("en", "script"), of)
    territory = _tag(_names("en", "territory"), of)
    if script is None and territory is None:
        script, territory = _subtags(match["of"].strip())
    if script is None and territory is None:
        return None
    return langcodes.Language.make(
        language=base.language,
        script=script or base.script,
        territory=base.territory if script else territory,
    )


def _subtags(code: str) -> tuple[str | None, str | None]:
    """A code as the script and the territory that it stands for; private ones stand for none."""
    match = _CODE.fullmatch(code)
    if match is None or not langcodes.tag_is_valid(f"und-{code}"):
        return None, None
    found = langcodes.get(f"und-{code}", normalize=True)
    known = found.script_name() if found.script else found.territory_name()
    return (found.script, found.territory) if "Unknown" not in known else (None, None)


def _tag(names: Any, name: str) -> str | None:
    return str(names[name][0].decode("utf-8")) if name in names else None


def _english() -> Any:
    return _names("en")


@lru_cache(maxsize=16)
def _names(of: str, kind: str = "language") -> Any:
    try:
        return load_trie(data_filename(f"trie/{of}/name_to_{kind}.marisa"))
    except OSError:  # the library has no names in that language
        return {}


@lru_cache(maxsize=1)
def _known() -> tuple[str, ...]:
    """English names of the languages of ISO 639-1."""
    english = _english()
    return tuple(name for name in english.keys() if len(english[name][0]) == 2)
