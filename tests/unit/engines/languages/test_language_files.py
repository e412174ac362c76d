"""Which languages, and which pair, a checkpoint's files name; nothing is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.modelfacts import LanguagePair, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.engines import describe
from bakeoff.engines.languagecodes import LanguageCodes, language_codes, marked_language
from bakeoff.engines.pairs import made_for, pair_of_task

MARIAN = {"model_type": "marian"}


@pytest.mark.parametrize(
    ("added", "vocabulary", "codes", "targets_only"),
    [
        (["en_XX", "de_DE", "<mask>", "Ab_CD"], [], ("de_DE", "en_XX"), False),
        (["eng_Latn", "zho_Hant", "eng_Latnx"], [], ("eng_Latn", "zho_Hant"), False),
        (["__en__", "__ceb__", "__init__"], [], ("ceb", "en"), False),
        ([], [">>fra<<", ">>zho_Hans<<", ">>", ">><<", "a"], ("fra", "zho_Hans"), True),
        (["<2de>", "<2zh_Hant>"], ["▁a"], ("de", "zh_Hant"), True),
        ([], ["<2de>", "<2back_translated>", "<2>"], ("de",), True),
        (["<s>"], ["hello"], (), False),
    ],
)
def test_tokens_that_name_a_language(
    added: list[str], vocabulary: list[str], codes: tuple[str, ...], targets_only: bool
) -> None:
    found = language_codes(added, vocabulary, {}, {})
    assert found == LanguageCodes(codes, targets_only)


@pytest.mark.parametrize(
    ("token", "code"),
    [(">>deu<<", "deu"), (">>ca-valencia<<", "ca-valencia"), ("<2pt_BR>", "pt_BR"),
     (">>a b<<", None), ("<2translate>", None), ("deu", None)],
)  # fmt: skip
def test_marks(token: str, code: str | None) -> None:
    assert marked_language(token) == code


@pytest.mark.torch
@pytest.mark.parametrize(
    ("tokenizer", "config", "module", "kind"),
    [
        ({"tokenizer_class": "M2M100Tokenizer"}, {}, "m2m_100.tokenization_m2m_100", "m2m100"),
        ({}, {"model_type": "m2m_100"}, "m2m_100.tokenization_m2m_100", "m2m100"),
        ({"tokenizer_class": "M2M100Tokenizer", "language_codes": "wmt21"}, {},
         "m2m_100.tokenization_m2m_100", "wmt21"),
        ({"tokenizer_class": "MBartTokenizerFast"}, {}, "mbart.tokenization_mbart", None),
        ({}, {"model_type": "mbart"}, "mbart.tokenization_mbart", None),
        ({}, {"model_type": "mbart", "tokenizer_class": "MBart50Tokenizer"},
         "mbart50.tokenization_mbart50", None),
    ],
)  # fmt: skip
def test_languages_that_a_class_adds_are_those_of_the_library(
    tokenizer: dict[str, Any], config: dict[str, Any], module: str, kind: str | None
) -> None:
    listed = __import__(
        f"transformers.models.{module}", fromlist=["FAIRSEQ_LANGUAGE_CODES"]
    ).FAIRSEQ_LANGUAGE_CODES
    expected = listed if kind is None else listed[kind]
    assert language_codes([], [], tokenizer, config).codes == tuple(sorted(expected))


def test_nllb_has_the_architecture_of_m2m100_and_languages_of_its_own() -> None:
    found = language_codes([], [], {"tokenizer_class": "NllbTokenizer"}, {"model_type": "m2m_100"})
    assert found.codes == ()


@pytest.mark.parametrize(
    ("name", "tokenizer", "pair"),
    [
        ("any", {"source_lang": "en", "target_lang": "de"}, ("en", "de")),
        ("opus-mt-en-fr", {"source_lang": "en", "target_lang": "de"}, ("en", "de")),
        ("Helsinki-NLP/opus-mt-en-de", {}, ("en", "de")),
        ("opus-mt-en-de", {"source_lang": None, "target_lang": None}, ("en", "de")),
        ("opus-mt-tc-big-en-pt", {}, ("en", "pt")),
        ("opus-mt-en-ROMANCE", {}, ("en", "ROMANCE")),
        ("opus-mt-tc-big-cat_oci_spa-en", {}, ("cat_oci_spa", "en")),
        ("opus-tatoeba-en-ja", {}, ("en", "ja")),
        ("marian-finetuned-kde4-en-to-fr", {}, None),
        ("opus-mt", {}, None),
    ],
)
def test_the_pair_of_a_marian_model(
    name: str, tokenizer: dict[str, Any], pair: tuple[str, str] | None
) -> None:
    found = made_for(name, MARIAN, tokenizer)
    assert (None if found is None else (found.source, found.target)) == pair
    assert found is None or found.origin


def test_only_marian_and_fsmt_are_taken_at_their_word() -> None:
    assert made_for("opus-mt-en-de", {"model_type": "t5"}, {}) is None
    assert made_for("m", {"model_type": "mbart"}, {"src_lang": "en_XX", "tgt_lang": "x"}) is None
    fsmt = made_for("wmt19-en-de", {"model_type": "fsmt", "langs": ["en", "de"]}, {})
    assert fsmt == LanguagePair("en", "de", "`langs` of its configuration")


def test_the_pair_of_an_entry_for_a_task() -> None:
    found = pair_of_task("translation_en_to_ro")
    assert found is not None and (found.source, found.target) == ("en", "ro")
    assert pair_of_task("translation_cn_wmt") is None


PAIRS = {
    "summarization": {"prefix": "summarize: "},
    "translation_en_to_fr": {"prefix": "translate English to French: ", "num_beams": 3},
    "translation_en_to_de": {"prefix": "translate English to German: "},
}


@pytest.fixture
def t5(tmp_path: Path) -> Path:
    """A checkpoint with prefixes, as far as `describe` reads it."""
    config = {
        "architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True,
        "model_type": "t5", "task_specific_params": PAIRS,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(b"")
    return tmp_path


def hinted(folder: Path, *hints: str) -> ModelFacts:
    return describe(ModelRef.parse(str(folder)), hints)


def test_the_first_entry_that_begins_as_asked_is_taken_and_is_the_pair(t5: Path) -> None:
    facts = hinted(t5, "translation", "translation_*")
    assert facts.prefix == "translate English to French: "
    assert facts.origins["num_beams"] == "task_specific_params.translation_en_to_fr"
    assert facts.pair == LanguagePair("en", "fr", "task_specific_params.translation_en_to_fr")
    assert [n.code for n in facts.notices] == ["task-specific-params"]


def test_an_entry_that_is_named_in_full_is_no_pair_of_the_models_own(t5: Path) -> None:
    facts = hinted(t5, "translation_en_to_de", "translation")
    assert facts.prefix == "translate English to German: " and facts.pair is None
    assert hinted(t5, "translation_de_to_en", "translation").prefix == ""
    assert hinted(t5, "transl*", "summarization").pair is not None
    assert hinted(t5, "summarization").pair is None
