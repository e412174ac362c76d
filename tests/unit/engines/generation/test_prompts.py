"""Prompts: rendered once, BOS once, cut by the stated rule, languages by the tokenizer's tags."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from transformers import AutoTokenizer, MBart50Tokenizer, MBartTokenizer, NllbTokenizer

from bakeoff.core.errors import (
    InvalidRequest,
    PromptTooLong,
    TemplateFailed,
    UnsupportedOption,
)
from bakeoff.core.requests import Message, Messages, Source, Text, Tokens
from bakeoff.engines.text.languages import Languages
from bakeoff.engines.text.prompts import PromptReader, Read
from bakeoff.engines.text.special import Special
from tests.zoo import zoo_path

pytestmark = pytest.mark.torch


def special_of(tokenizer, **config):
    """Special tokens of a tokenizer whose model says `config`."""
    said = SimpleNamespace(**config)
    return Special.of(SimpleNamespace(), said, tokenizer, len(tokenizer))


def reader_of(tokenizer, **config):
    special = special_of(tokenizer, **config)
    return PromptReader(tokenizer, special, Languages.of(tokenizer), len(tokenizer))


@pytest.fixture
def llama():
    return AutoTokenizer.from_pretrained(zoo_path("llama"))


@pytest.fixture
def bart():
    return AutoTokenizer.from_pretrained(zoo_path("bart"))


def test_bos_is_never_doubled(llama):
    reader = reader_of(llama)
    chat = Messages((Message("system", "Answer in German."), Message("user", "1 ring")))
    for prompt in (chat, Text("1 ring"), Text("<s>1 ring")):
        ids = reader.read(prompt).ids
        assert ids.count(llama.bos_token_id) == 1
        assert ids[0] == llama.bos_token_id
    assert reader.read(Text("<s>1 ring")).ids == reader.read(Text("1 ring")).ids
    rendered = llama.apply_chat_template(
        [{"role": m.role, "content": m.content} for m in chat.messages],
        add_generation_prompt=True,
        return_dict=True,
    )["input_ids"]
    assert reader.read(chat).ids == rendered


def test_text_is_not_taken_for_a_chat(llama):
    text = "user\nhello"
    assert reader_of(llama).read(Text(text)).ids == llama(text)["input_ids"]
    assert not reader_of(llama).read(Text(text)).chat


@pytest.mark.parametrize("template", ["{{ raise_exception('roles must alternate') }}", None])
def test_a_template_that_refuses_costs_the_row(llama, template):
    llama.chat_template = template
    with pytest.raises(TemplateFailed):
        reader_of(llama).read(Messages((Message("user", "hello"),)))


def test_the_end_of_a_turn_is_read_from_the_template(llama):
    special = special_of(llama, eos_token_id=5)
    assert special.end == {5, llama.eos_token_id}
    assert special.turn_end == {llama.convert_tokens_to_ids("<|im_end|>")}
    assert special.turn_stops == ()
    llama.chat_template = llama.chat_template.replace("<|im_end|>", "<|finis|>")
    spelled = special_of(llama)
    assert spelled.turn_end == frozenset()
    assert spelled.turn_stops == ("<|finis|>",)
    llama.chat_template = "{% for m in messages %}{{ m['content'] }}\n\n{% endfor %}"
    assert special_of(llama).turn_stops == ()


@pytest.mark.parametrize(
    ("behind", "stops"),
    [
        ("<|finis|><|robot|>", ("<|finis|>",)),
        ("<|finis|>robot:", ("<|finis|>",)),
        ("[/FIN][INST]", ("[/FIN]",)),
        ("<</FIN>>", ("<</FIN>>",)),
        ("a < b > c", ()),
    ],
)
def test_a_marker_that_is_spelled_ends_before_the_next_turn(llama, behind, stops):
    turns = "{% for m in messages %}{{ m['content'] }}" + behind + "{% endfor %}"
    llama.chat_template = turns
    assert special_of(llama).turn_stops == stops


def test_a_template_that_shows_no_turn_is_told(llama):
    assert special_of(llama).silent is None
    llama.chat_template = "{{ raise_exception('one turn only') }}"
    special = special_of(llama)
    assert special.turn_end == frozenset() and special.turn_stops == ()
    assert "one turn only" in special.silent


def test_token_ids_are_taken_as_they_are(llama):
    reader = reader_of(llama)
    assert reader.read(Tokens((7, 8, 7))).ids == [7, 8, 7]
    for wrong in (-1, len(llama)):
        with pytest.raises(InvalidRequest, match=str(wrong)):
            reader.read(Tokens((wrong,)))


def test_an_empty_text_begins_with_bos(llama):
    assert reader_of(llama).read(Text("")).ids == [llama.bos_token_id]
    assert reader_of(llama).read(Tokens(())).ids == [llama.bos_token_id]


def test_what_goes_on_behind_the_prompt_is_cut_at_its_beginning(llama):
    reader = replace(reader_of(llama), continues=True)
    full = reader.read(Text("1 ring of plain glass 2 brush of heavy wood " * 20 + "Summary:"))
    fitted = reader.fit(full, 50, "cut", 40)
    assert fitted.cut == len(full.ids) - 40
    assert fitted.ids == [llama.bos_token_id, *full.ids[-39:]]
    with pytest.raises(PromptTooLong, match="drop the beginning"):
        reader.fit(full, 50, "refuse", 40)
    with pytest.raises(PromptTooLong, match="no room"):
        reader.fit(full, 50, "cut", 1)


@pytest.mark.parametrize("name", ["llama", "bart"])
def test_cutting_keeps_the_beginning_and_the_closing_token(name, request):
    tokenizer = request.getfixturevalue(name)
    reader = reader_of(tokenizer)
    text = "1 ring of plain glass 2 brush of heavy wood " * 20
    full = reader.read(Text(text))
    fitted = reader.fit(full, 50, "cut", 40)
    assert fitted.cut == len(full.ids) - 40
    assert len(fitted.ids) == 40
    closing = 1 if name == "bart" else 0
    assert fitted.ids[: 40 - closing] == full.ids[: 40 - closing]
    assert fitted.ids[40 - closing :] == full.ids[len(full.ids) - closing :]
    assert tokenizer(text, truncation=True, max_length=40)["input_ids"] == fitted.ids
    with pytest.raises(PromptTooLong) as caught:
        reader.fit(full, 50, "refuse", 40)
    assert (caught.value.tokens, caught.value.limit) == (len(full.ids), 50)
    with pytest.raises(PromptTooLong):
        reader.fit(Read(full.ids), 50, "cut", 40)
    assert reader.fit(full, None, "refuse", 0).cut == 0


PIECES = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "▁": 4, "▁hello": 5, "▁de": 6}
UNIGRAM = [(piece, -float(at)) for piece, at in PIECES.items()]
TRANSLATORS = {
    "nllb": (lambda: NllbTokenizer(vocab=PIECES, merges=[]), "eng_Latn", "deu_Latn", "fra_Latn"),
    "mbart50": (lambda: MBart50Tokenizer(vocab=UNIGRAM), "en_XX", "de_DE", "fr_XX"),
    "mbart": (lambda: MBartTokenizer(vocab=UNIGRAM), "en_XX", "de_DE", "fr_XX"),
}


@pytest.mark.parametrize("family", TRANSLATORS)
def test_languages_reach_the_encoder_and_the_decoder(family):
    build, own, source, target = TRANSLATORS[family]
    tokenizer = build()
    reader = reader_of(tokenizer, decoder_start_token_id=2)
    ids = tokenizer.convert_tokens_to_ids
    read = reader.read(Source("hello", source, target))
    assert ids(source) in read.ids
    assert ids(own) not in read.ids
    assert read.language == ids(target)
    expected = (ids(target), None) if family == "mbart" else (2, ids(target))
    assert reader.special.beginning(read.language) == expected
    # The tokenizer is as it was: the next row without a source language has the default.
    assert ids(own) in reader.read(Source("hello", None, target)).ids
    assert reader.read(Source("hello")).language is None


@pytest.mark.parametrize("option", ["source_language", "target_language"])
def test_a_language_that_is_not_known_is_refused_by_name(option):
    tokenizer = TRANSLATORS["nllb"][0]()
    prompt = Source("hello", **{option: "xx"})
    with pytest.raises(UnsupportedOption, match=r"'xx'.*it knows ace_Arab") as caught:
        reader_of(tokenizer).read(prompt)
    assert caught.value.option == option
    assert Languages.of(tokenizer).unknown(prompt) == [option]


def test_a_word_of_the_vocabulary_is_no_language(bart):
    languages = Languages.of(bart)
    assert languages.unknown(Source("x", "1", "2")) == ["source_language", "target_language"]


def test_marks_for_the_target_stand_before_the_text(bart):
    bart.add_tokens([">>fra<<"])
    languages = Languages.of(bart)
    assert languages.marked(Source("hello", None, "fra")) == ">>fra<< hello"
    assert languages.target(Source("hello", None, "fra")) is None
    assert languages.unknown(Source("hello", None, "deu")) == ["target_language"]
