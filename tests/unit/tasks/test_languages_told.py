"""How each kind of translation model is told the pair; what is refused and what is reported."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.modelfacts import Capabilities, LanguagePair, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import Source, Text
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import PromptSpec, TaskSpec
from bakeoff.tasks import build_task
from bakeoff.tasks.translation import Translation

NLLB = ("deu_Latn", "eng_Latn", "srp_Cyrl", "kor_Hang", "zho_Hans", "zho_Hant")
MARKS = ("deu", "fra", "pob", "por", "cmn_Hans", "cmn_Hant")
EN_DE = LanguagePair("en", "de", "source_lang and target_lang in its tokenizer_config.json")


def facts(kind: str = "seq2seq", **more: Any) -> ModelFacts:
    outer = {key: more.pop(key) for key in ("prefix", "pair") if key in more}
    capabilities = Capabilities(kind=kind, **more)  # type: ignore[arg-type]
    return ModelFacts(ModelRef(scheme="hf", name="org/model"), "x", capabilities, **outer)


def task_of(source: str | None = None, target: str | None = None) -> Translation:
    spec = TaskSpec(kind="translation", source_language=source, target_language=target)
    task = build_task(spec)
    assert isinstance(task, Translation)
    return task


def asked(task: Translation, model: ModelFacts, template: str | None = None) -> Source:
    """The prompt of a row, after the checks."""
    prompt = PromptSpec(template=template) if template else None
    task.check(model, prompt)
    (made,) = task.ask(TaskRow(0, "1", source="hello"), model, prompt)
    assert isinstance(made, Source)
    return made


@pytest.mark.parametrize(
    ("prefix", "codes", "template", "told"),
    [
        ("", (), None, False),
        ("translate English to French: ", (), None, True),
        ("", ("en", "fr"), None, True),
        ("", (), "to French: {{ source }}", True),
    ],
)
def test_a_pair_that_is_not_told(
    prefix: str, codes: tuple[str, ...], template: str | None, told: bool
) -> None:
    model = facts(prefix=prefix, language_codes=codes)
    prompt = PromptSpec(template=template) if template else None
    found = task_of("en", "French").notices(model, prompt)
    assert [notice.code for notice in found] == ([] if told else ["languages-not-told"])


@pytest.mark.parametrize(
    ("source", "target", "codes"),
    [
        ("English", "Traditional Chinese", ("eng_Latn", "zho_Hant")),
        ("en", "zh-CN", ("eng_Latn", "zho_Hans")),
        ("eng", "ko", ("eng_Latn", "kor_Hang")),
        ("deu_Latn", "sr", ("deu_Latn", "srp_Cyrl")),
    ],
)
def test_tokens_for_both(source: str, target: str, codes: tuple[str, str]) -> None:
    model = facts(language_codes=NLLB)
    task = task_of(source, target)
    assert asked(task, model) == Source("hello", *codes)
    assert task.notices(model) == ()


@pytest.mark.parametrize(
    ("source", "target", "option", "says"),
    [
        ("en", "French", "task.target_language", r"no token for 'French' \(French\)"),
        ("fr", "de", "task.source_language", "no token for 'fr'"),
        ("en", "sr-Latn", "task.target_language", "did you mean srp_Cyrl"),
        ("en", "ger-Cyrl", "task.target_language", "did you mean deu_Latn"),
    ],
)
def test_a_language_without_a_token_is_refused_with_near_matches(
    source: str, target: str, option: str, says: str
) -> None:
    with pytest.raises(UnsupportedOption, match=says) as caught:
        task_of(source, target).check(facts(language_codes=NLLB))
    assert caught.value.option == option
    assert "deu_Latn" in caught.value.message


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("sr-Latn", r"'sr-Latn' \(Serbian \(Latin\), script Latn\): did you mean sr\?"),
        ("sr-ME", r"'sr-ME' \(Serbian \(Montenegro\), script Latn\)"),
        ("deu_Cyrl", r"'deu_Cyrl' \(German \(Cyrillic\), script Cyrl\): did you mean de\?"),
    ],
)
def test_a_script_is_not_dropped_for_codes_that_carry_none(target: str, says: str) -> None:
    model = facts(language_codes=("de", "en", "sr"))
    with pytest.raises(UnsupportedOption, match=says) as caught:
        task_of("en", target).check(model)
    assert caught.value.option == "task.target_language"
    assert asked(task_of("en", "srp_Cyrl"), model) == Source("hello", "en", "sr")


def test_a_prefix_for_another_script_is_not_taken() -> None:
    model = facts(prefix="translate English to German: ")
    says = r"no prefix for 'deu_Cyrl' \(German \(Cyrillic\), script Cyrl\)"
    with pytest.raises(UnsupportedOption, match=says) as caught:
        task_of("en", "deu_Cyrl").check(model)
    assert caught.value.option == "task.target_language"
    with pytest.raises(UnsupportedOption, match="no prefix for 'eng_Cyrl'") as caught:
        task_of("eng_Cyrl", "de").check(model)
    assert caught.value.option == "task.source_language"
    task_of("en", "deu_Latn").check(model)
    assert asked(task_of("en", "deu_Cyrl"), model, "{{ source }}") == Source("hello")


@pytest.mark.parametrize("template", [None, "{{ source }}"])
@pytest.mark.parametrize(
    ("source", "target", "codes", "token"),
    [
        ("pt-BR", "pt-PT", ("eng_Latn", "por_Latn"), "por_Latn"),
        ("Persian", "Dari", ("en", "fa"), "fa"),
        ("en-GB", "en-US", ("en_XX", "de_DE"), "en_XX"),
    ],
)
def test_one_token_for_both_sides_is_refused(
    source: str, target: str, codes: tuple[str, ...], token: str, template: str | None
) -> None:
    with pytest.raises(UnsupportedOption, match=f"one and the same token, {token}") as caught:
        task_of(source, target).check(facts(language_codes=codes), PromptSpec(template=template))
    assert caught.value.option == "task.target_language"
    for said in (f"task.source_language {source!r}", f"task.target_language {target!r}"):
        assert said in caught.value.message


@pytest.mark.parametrize("template", [None, "{{ source }}"])
def test_a_model_that_knows_many_languages_needs_the_pair(template: str | None) -> None:
    with pytest.raises(UnsupportedOption, match="knows 6 languages") as caught:
        task_of().check(facts(language_codes=NLLB), PromptSpec(template=template))
    for field in ("task.source_language", "task.target_language"):
        assert field in caught.value.message


@pytest.mark.parametrize(
    ("source", "target", "mark"),
    [
        ("English", "German", "deu"),
        ("Hungarian", "fr", "fra"),
        ("en", "pt", "por"),
        ("en", "pt-BR", "pob"),
        ("en", "Brazilian Portuguese", "pob"),
        ("en", "pt-PT", "por"),
        ("en", "zh", "cmn_Hans"),
        ("en", "zh-Hant", "cmn_Hant"),
    ],
)
def test_a_mark_for_the_target_alone(source: str, target: str, mark: str) -> None:
    model = facts(language_codes=MARKS, targets_only=True)
    task = task_of(source, target)
    assert asked(task, model) == Source("hello", None, mark)
    assert task.notices(model) == ()


def test_a_target_without_a_mark_is_refused() -> None:
    model = facts(language_codes=MARKS, targets_only=True)
    with pytest.raises(UnsupportedOption, match="no token for 'Korean'") as caught:
        task_of("en", "Korean").check(model)
    assert caught.value.option == "task.target_language"


def test_marks_without_a_pair() -> None:
    model = facts(language_codes=MARKS, targets_only=True)
    with pytest.raises(UnsupportedOption, match="knows 6 target languages"):
        task_of().check(model)
    # A template may hold the mark.
    assert asked(task_of(), model, ">>deu<< {{ source }}") == Source(">>deu<< hello")
    one = facts(language_codes=("deu",), targets_only=True)
    assert asked(task_of(), one) == Source("hello", None, "deu")
    (notice,) = task_of().notices(one)
    assert notice.code == "translation-pair-assumed" and "to German" in notice.text


def test_marks_of_a_model_that_names_one_target() -> None:
    pair = LanguagePair("eng", "zho", "its name")
    model = facts(language_codes=("cmn_Hans", "cmn_Hant", "yue"), targets_only=True, pair=pair)
    assert asked(task_of(), model).target_language == "cmn_Hans"
    # A vocabulary may hold marks that were never trained, and none for the only target.
    stray = facts(language_codes=("fra", "spa"), targets_only=True, pair=EN_DE)
    assert asked(task_of("en", "de"), stray) == Source("hello")
    with pytest.raises(UnsupportedOption, match="no token for 'it'"):
        task_of("en", "it").check(stray)


@pytest.mark.parametrize(
    ("source", "target"),
    [("en", "de"), ("English", "German"), ("eng_Latn", "deu_Latn"), ("en-GB", "de-AT")],
)
def test_a_one_pair_model_that_is_asked_for_its_pair(source: str, target: str) -> None:
    task, model = task_of(source, target), facts(pair=EN_DE)
    assert asked(task, model) == Source("hello")
    assert task.notices(model) == ()


@pytest.mark.parametrize(
    ("source", "target", "option"),
    [
        ("en", "fr", "task.target_language"),
        ("de", "en", "task.target_language"),
        ("fr", "de", "task.source_language"),
        ("en", "deu_Cyrl", "task.target_language"),
        ("eng_Cyrl", "de", "task.source_language"),
    ],
)
def test_a_one_pair_model_that_is_asked_for_another_pair(
    source: str, target: str, option: str
) -> None:
    task, model = task_of(source, target), facts(pair=EN_DE)
    with pytest.raises(
        UnsupportedOption, match=r"translates from English to German \(source_lang.*\), not from"
    ) as caught:
        task.check(model)
    assert caught.value.option == option
    # Who knows better says so by a template.
    assert asked(task, model, "{{ source }}") == Source("hello")


def test_a_one_pair_model_without_a_pair_says_which_it_takes() -> None:
    model = facts(pair=EN_DE)
    assert asked(task_of(), model) == Source("hello")
    (notice,) = task_of().notices(model)
    assert notice.code == "translation-pair-assumed"
    assert "model translates from English to German, by source_lang" in notice.text
    assert task_of().notices(model, PromptSpec(template="{{ source }}")) == ()


@pytest.mark.parametrize(
    ("pair", "source", "target", "refused"),
    [
        (("en", "roa"), "en", "ro", False),
        (("en", "ROMANCE"), "de", "ro", True),
        (("mul", "en"), "de", "en", False),
        (("mul", "en"), "de", "fr", True),
        (("cat_oci_spa", "en"), "es", "en", False),
        (("en", "sh"), "en", "hr", False),
        (("en", "zho"), "en", "zh-Hans", False),
        (("en", "zho"), "en", "zh-Hant", True),
        (("en", "cmn_Hant"), "en", "zh-Hant", False),
        (("no", "de"), "nb", "de", False),
        (("ar", "en"), "arz", "en", False),
    ],
)
def test_a_group_of_languages_leaves_its_side_open(
    pair: tuple[str, str], source: str, target: str, refused: bool
) -> None:
    model, task = facts(pair=LanguagePair(*pair, "its name")), task_of(source, target)
    if refused:
        with pytest.raises(UnsupportedOption, match="its name"):
            task.check(model)
    else:
        task.check(model)


def test_a_pair_of_task_specific_params_is_reported() -> None:
    pair = LanguagePair("en", "de", "task_specific_params.translation_en_to_de")
    model = facts(prefix="translate English to German: ", pair=pair)
    assert asked(task_of(), model).text == "translate English to German: hello"
    (notice,) = task_of().notices(model)
    assert "from English to German, by task_specific_params.translation_en_to_de" in notice.text


def test_a_model_of_which_nothing_is_known_is_tried_and_named() -> None:
    model = facts()
    assert asked(task_of(), model) == Source("hello")
    (notice,) = task_of().notices(model)
    assert notice.code == "languages-not-told"


def test_a_decoder_has_to_be_told() -> None:
    chat = facts("causal", chat_template=True)
    with pytest.raises(UnsupportedOption, match="has to be told the languages"):
        task_of().check(chat)
    task_of().check(chat, PromptSpec(template="Into German: {{ source }}"))
    plain = facts("causal")
    (made,) = task_of("en", "pt-BR").ask(TaskRow(0, "1", source="hello"), plain, None)
    assert isinstance(made, Text)
    assert "from English to Portuguese (Brazil)" in made.text
    assert task_of("en", "pt-BR").notices(plain) == ()
