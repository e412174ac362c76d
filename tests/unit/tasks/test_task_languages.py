"""Languages as people write them, and as tokenizers spell them."""

from __future__ import annotations

import pytest

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.specs import TaskSpec
from bakeoff.tasks import build_task
from bakeoff.tasks.languages import language, single_language


@pytest.mark.parametrize(
    ("said", "tag", "name"),
    [
        ("German", "de", "German"),
        (" german ", "de", "German"),
        ("Deutsch", "de", "German"),
        ("de", "de", "German"),
        ("DE", "de", "German"),
        ("deu", "de", "German"),
        ("ger", "de", "German"),
        ("deu_Latn", "de", "German"),
        ("de_XX", "de", "German"),
        ("de-AT", "de", "German (Austria)"),
        ("zho_Hans", "zh", "Chinese"),
        ("Traditional Chinese", "zh", "Chinese (Traditional)"),
        ("Brazilian Portuguese", "pt", "Portuguese (Brazil)"),
        ("arb_Arab", "ar", "Arabic"),
        ("swh_Latn", "sw", "Swahili"),
        ("sr-Latn", "sr", "Serbian (Latin)"),
        ("日本語", "ja", "Japanese"),
        ("Klingon", "tlh", "Klingon"),
        ("Hindi", "hi", "Hindi"),
        ("pt-BR", "pt", "Portuguese (Brazil)"),
        ("pt_BR", "pt", "Portuguese (Brazil)"),
        ("zh-Hant", "zh", "Chinese (Traditional)"),
        ("Chinese (Traditional)", "zh", "Chinese (Traditional)"),
        ("Chinese (Simplified)", "zh", "Chinese"),
        ("Portuguese (Brazil)", "pt", "Portuguese (Brazil)"),
        ("Burmese (Myanmar (Burma))", "my", "Burmese (Myanmar (Burma))"),
        ("français", "fr", "French"),
        ("Flemish", "nl", "Dutch (Belgium)"),
        ("iw", "he", "Hebrew"),
        ("en_UK", "en", "English (United Kingdom)"),
        ("zh-yue", "yue", "Cantonese"),
        ("ns", "nso", "Northern Sotho"),
        ("English (US)", "en", "English (United States)"),
        ("English (UK)", "en", "English (United Kingdom)"),
        ("Spanish (419)", "es", "Spanish (Latin America)"),
        ("Portuguese (br)", "pt", "Portuguese (Brazil)"),
        ("Serbian (Latn)", "sr", "Serbian (Latin)"),
    ],
)
def test_found(said: str, tag: str, name: str) -> None:
    found = language(said)
    assert (found.tag, found.name) == (tag, name)


@pytest.mark.parametrize(
    ("said", "near"),
    [
        ("Germn", "German"),
        ("Spansh", "Spanish"),
        ("Portuguse", "Portuguese"),
        ("klingonese", "Klingon"),
        ("Germann", "German?"),
        ("Portugese", "Portuguese?"),
        ("Chineese", "Chinese?"),
        ("italien", "Italian?"),
        ("Japenese", "Japanese or Javanese?"),
        ("deu_Latin", "deu_Latn (German)?"),
        ("eng_Lat", "eng_Latn (English)?"),
        ("de-DEE", "de (German)?"),
        ("jp", "ja (Japanese)?"),
        ("cz", "cs (Czech)?"),
        ("Chinese (Elvish)", "Chinese"),
        ("English (1)", "English"),
        ("English (JJ)", "English"),
        ("English (QQ)", "English"),
        ("xx", None),
        ("a", None),
        ("", None),
        ("zz_Latn", None),
        ("und", None),
        ("mul", None),
        ("qaa", None),
        ("x" * 100_000, None),
    ],
)
def test_refused_with_near_matches(said: str, near: str | None) -> None:
    with pytest.raises(InvalidSpec, match=r"task\.source_language is .* is no language") as caught:
        language(said, "task.source_language")
    assert (f"did you mean {near}" if near else "language. Write") in caught.value.message
    assert len(caught.value.message) < 400


NLLB = (
    "eng_Latn deu_Latn arb_Arab ary_Arab zho_Hans zho_Hant swh_Latn nob_Latn zsm_Latn pes_Arab "
    "por_Latn srp_Cyrl tgl_Latn khk_Cyrl lvs_Latn pbt_Arab prs_Arab aka_Latn twi_Latn"
).split()


@pytest.mark.parametrize(
    ("said", "codes", "code"),
    [
        ("German", NLLB, "deu_Latn"),
        ("Arabic", NLLB, "arb_Arab"),
        ("ary_Arab", NLLB, "ary_Arab"),
        ("Chinese", NLLB, "zho_Hans"),
        ("zh-TW", NLLB, "zho_Hant"),
        ("Norwegian", NLLB, "nob_Latn"),
        ("Filipino", NLLB, "tgl_Latn"),
        ("Persian", NLLB, "pes_Arab"),
        ("Pashto", NLLB, "pbt_Arab"),
        ("Latvian", NLLB, "lvs_Latn"),
        ("pt-BR", NLLB, "por_Latn"),
        ("sr-Latn", NLLB, None),
        ("French", NLLB, None),
        ("DEU_latn", NLLB, "deu_Latn"),
        ("German", ["en_XX", "de_DE"], "de_DE"),
        ("en", ["en_XX", "de_DE"], "en_XX"),
        ("Chinese", ["zh_CN"], "zh_CN"),
        ("Traditional Chinese", ["zh_CN"], None),
        ("deu_Latn", ["en", "de"], "de"),
        ("German", [">>eng<<", ">>deu<<"], ">>deu<<"),
        ("German", ["__en__", "__de__"], "__de__"),
        ("German", [], None),
        ("Korean", ["kor_Hang"], "kor_Hang"),
        ("ko-Kore", ["kor_Hang"], None),
        ("acm", ["acm_Arab"], "acm_Arab"),
        ("Acehnese", ["ace_Arab", "ace_Latn"], "ace_Latn"),
        ("Brazilian Portuguese", ["pt_XX"], "pt_XX"),
        ("Northern Sotho", ["ns"], "ns"),
        ("Filipino", ["tl"], "tl"),
        ("Norwegian Bokmål", ["no"], "no"),
        ("fr-CA", ["fr", "fr_CA"], "fr_CA"),
        ("fr", ["fr_CA", "fr"], "fr"),
        ("Dari", NLLB, "prs_Arab"),
        ("prs", NLLB, "prs_Arab"),
        ("fa-AF", NLLB, "prs_Arab"),
        ("fa-IR", NLLB, "pes_Arab"),
        ("Persian", ["prs_Arab", "pes_Arab"], "pes_Arab"),
        ("Dari", ["fas", "prs"], "prs"),
        ("Dari", ["fa"], "fa"),
        ("Twi", NLLB, "twi_Latn"),
        ("Akan", NLLB, "aka_Latn"),
        ("sr-Latn", ["sr"], None),
        ("sr-Latn", ["srp"], None),
        ("sr-Latn", ["sr", "srp_Latn"], "srp_Latn"),
        ("sr-Cyrl", ["sr"], "sr"),
        ("sr-ME", ["sr"], None),
        ("deu_Cyrl", ["de"], None),
        ("deu_Cyrl", ["de_XX"], None),
        ("zh-Hans", ["zh"], "zh"),
        ("zh-Hant", ["zh"], None),
        ("zh-TW", ["zh"], None),
        ("jpn_Jpan", ["ja"], "ja"),
        ("kor_Hang", ["ko"], "ko"),
        ("kor_Hang", ["ko_KR"], "ko_KR"),
        ("acm_Arab", ["acm"], "acm"),
        ("azb_Arab", ["azb"], "azb"),
    ],
)
def test_as_a_tokenizer_spells_it(said: str, codes: list[str], code: str | None) -> None:
    assert language(said).code_among(codes) == code


@pytest.mark.torch
@pytest.mark.parametrize(
    ("module", "listed"),
    [("m2m_100.tokenization_m2m_100", "m2m100"), ("mbart50.tokenization_mbart50", None),
     ("nllb.tokenization_nllb", None)],
)  # fmt: skip
def test_every_language_of_the_library_is_found_by_code_and_by_name(
    module: str, listed: str | None
) -> None:
    codes = __import__(
        f"transformers.models.{module}", fromlist=["FAIRSEQ_LANGUAGE_CODES"]
    ).FAIRSEQ_LANGUAGE_CODES
    codes = codes if listed is None else codes[listed]
    by_name = 0
    for code in codes:
        found = language(code)
        assert found.code_among(codes) == code
        for said in (found.name, found.alpha3, found.full):
            other = language(said).code_among(codes)
            # A language in two scripts, or of a broader one, is meant only by its code.
            assert other is not None and language(other).tag == found.tag
            by_name += other == code
    assert by_name >= 0.98 * 3 * len(codes)


@pytest.mark.parametrize(
    ("one", "other", "akin"),
    [
        ("pt-PT", "pt-BR", True), ("zh-Hans", "cmn", True), ("nb", "no", True),
        ("arz", "ar", True), ("hr", "bs", True), ("fil", "tl", True),
        ("de", "en", False), ("es", "ca", False), ("da", "no", False), ("yue", "zh", False),
    ],
)  # fmt: skip
def test_which_languages_a_model_for_another_may_be_asked_for(
    one: str, other: str, akin: bool
) -> None:
    assert language(one).akin(language(other)) is akin
    assert language(other).akin(language(one)) is akin


@pytest.mark.parametrize(
    ("made_for", "asked", "akin"),
    [
        ("de", "deu_Cyrl", False), ("de", "deu_Latn", True), ("sr", "sr-Latn", False),
        ("sr", "sr-Cyrl", True), ("sr-Latn", "sr-Latn", True), ("sr-Latn", "sr", True),
        ("cmn", "zh-Hant", False), ("zh-Hant", "zh-Hans", False), ("zh-Hant", "cmn", True),
        ("ko", "kor_Hang", True), ("ar", "arz_Arab", True), ("acm", "acm_Arab", True),
    ],
)  # fmt: skip
def test_another_script_that_was_named_is_another_language(
    made_for: str, asked: str, akin: bool
) -> None:
    assert language(made_for).akin(language(asked)) is akin


@pytest.mark.parametrize("code", ["roa", "mul", "sh", "ROMANCE", "NORTH_EU", "cat_oci_spa", "zhx"])
def test_groups_are_no_single_language(code: str) -> None:
    assert single_language(code) is None


@pytest.mark.parametrize("pair", [("de", "de"), ("German", "deu_Latn"), ("ar", "arb_Arab")])
def test_the_same_language_twice_is_a_slip(pair: tuple[str, str]) -> None:
    with pytest.raises(InvalidSpec, match="are the same language"):
        build_task(TaskSpec(kind="translation", source_language=pair[0], target_language=pair[1]))


@pytest.mark.parametrize("pair", [("pt-PT", "pt-BR"), ("zho_Hans", "zho_Hant"), ("sr", "sr-Latn")])
def test_regions_and_scripts_are_languages_of_their_own(pair: tuple[str, str]) -> None:
    task = build_task(
        TaskSpec(kind="translation", source_language=pair[0], target_language=pair[1])
    )
    assert task.hints()[-1] == "translation"


def test_hints_name_the_pair() -> None:
    spec = TaskSpec(kind="translation", source_language="English", target_language="deu_Latn")
    assert build_task(spec).hints() == ("translation_en_to_de", "translation")
