"""Languages as people write them: English names, ISO 639, BCP 47 or NLLB codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import langcodes
from langcodes import tag_parser
from language_data.names import normalize_name

from bakeoff.core.errors import InvalidSpec


@dataclass(frozen=True, slots=True)
class Language:
    """A language, resolved once.

    Attributes:
        said: what the user wrote.
        tag: BCP 47 without region, for example `de`.
        alpha3: ISO 639-3, for example `deu`.
        script: ISO 15924 of its usual writing, for example `Latn`.
        name: in English.
    """

    said: str
    tag: str
    alpha3: str
    script: str
    name: str

    def code_among(self, codes: tuple[str, ...]) -> str | None:
        """How a tokenizer with these language codes spells it, or None."""
        wanted = (
            self.said,
            f"{self.alpha3}_{self.script}",
            self.tag,
            f"{self.tag}_XX",
            self.alpha3,
        )
        for code in wanted:
            if code in codes:
                return code
        return next((c for c in codes if c.split("_")[0] in (self.tag, self.alpha3)), None)


@lru_cache(maxsize=256)
def language(said: str, field: str = "language") -> Language:
    """Resolve what a user wrote.

    Raises:
        InvalidSpec: no language is called that; `field` is named.
    """
    try:
        found = _find(said.strip())
        return Language(
            said=said,
            tag=found.language or "und",
            alpha3=found.to_alpha3(),
            script=str(found.maximize().script or "Latn"),
            name=found.language_name(),
        )
    except (LookupError, tag_parser.LanguageTagError) as problem:
        raise InvalidSpec(
            f"{field} is {said!r}, which is no language: write its English name (German), "
            "an ISO 639 code (de, deu) or an NLLB code (deu_Latn)"
        ) from problem


def _find(said: str) -> langcodes.Language:
    plain = said.replace("_", "-")
    if langcodes.tag_is_valid(plain) and (len(plain.split("-")[0]) <= 3):
        return langcodes.get(plain, normalize=True)
    found = langcodes.find(normalize_name(said))
    return found
