"""Which languages a tokenizer has tokens for, read from its files alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_M2M100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu "
    "ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr "
    "ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk "
    "ur uz vi wo xh yi yo zh zu"
)
_WMT21 = "en ha is ja cs ru zh de"
_MBART = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT "
    "lv_LV my_MM ne_NP nl_XX ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
_MBART50 = (
    f"{_MBART} af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN "
    "pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)
_BUILT_IN = {"M2M100Tokenizer": _M2M100, "MBartTokenizer": _MBART, "MBart50Tokenizer": _MBART50}
"""Tokenizers whose class adds the same languages to whatever vocabulary it is given; their files
need not name them."""
_CLASS_OF = {"m2m_100": "M2M100Tokenizer", "mbart": "MBartTokenizer"}
"""Family -> its tokenizer, where no file names a class."""

_PAIRED = tuple(
    re.compile(pattern)
    for pattern in (
        r"^([a-z]{2}_[A-Z]{2})$",  # mBART: en_XX
        r"^([a-z]{3}_[A-Z][a-z]{3})$",  # NLLB: eng_Latn
        r"^__([a-z]{2,3})__$",  # M2M100: __en__
    )
)
_MARKS = (
    re.compile(r"^>>([^<>\s]{2,20})<<$"),  # Marian: >>fra<<
    re.compile(r"^<2([a-z]{2,3}(?:_[A-Za-z]{2,4})?)>$"),  # MADLAD-400: <2fr>, <2zh_Hant>
)


class LanguageCodes(NamedTuple):
    """Languages as a tokenizer spells them.

    Attributes:
        codes: in order of the alphabet.
        targets_only: whether they are marks that name the target alone.
    """

    codes: tuple[str, ...] = ()
    targets_only: bool = False


def marked_language(token: str) -> str | None:
    """The language of a mark that stands in the text before the source, or None."""
    if token[:2] not in (">>", "<2"):  # vocabularies are long
        return None
    return next((match[1] for mark in _MARKS if (match := mark.match(token))), None)


def language_codes(
    added: Iterable[str],
    vocabulary: Iterable[str],
    tokenizer: Mapping[str, Any],
    config: Mapping[str, Any],
) -> LanguageCodes:
    """Read them.

    Args:
        added: tokens outside the learnt vocabulary.
        vocabulary: the learnt vocabulary, which may hold marks.
        tokenizer: `tokenizer_config.json`.
        config: `config.json`.
    """
    added = set(added)
    found = {match[1] for token in added for one in _PAIRED if (match := one.match(token))}
    if not found:
        found = set(_built_in(tokenizer, config))
    if found:
        return LanguageCodes(tuple(sorted(found)))
    marks = {code for token in (*added, *vocabulary) if (code := marked_language(token))}
    return LanguageCodes(tuple(sorted(marks)), targets_only=bool(marks))


def _built_in(tokenizer: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    named = tokenizer.get("tokenizer_class") or config.get("tokenizer_class")
    kind = str(named or _CLASS_OF.get(str(config.get("model_type")), "")).removesuffix("Fast")
    if kind == "M2M100Tokenizer" and tokenizer.get("language_codes") == "wmt21":
        return _WMT21.split()
    return _BUILT_IN.get(kind, "").split()
