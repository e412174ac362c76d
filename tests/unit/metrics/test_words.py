"""Words in any script."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from bakeoff.metrics.words import Words, has_words, writing
from tests.unit.metrics.samples import IDENTICAL

tokenize = Words().tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's 3.50 €, isn't_it?", ["it", "s", "3", "50", "isn", "t", "it"]),
        ("Está aquí", ["está", "aquí"]),
        ("今天天气", ["今", "天", "天", "气"]),
        ("コーヒー2杯", ["コ", "ー", "ヒ", "ー", "2", "杯"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ที่นี่ดี", ["ที่", "นี่", "ดี"]),
        ("GPT模型is好", ["gpt", "模", "型", "is", "好"]),
        ("می‌خواهم", ["میخواهم"]),
        ("!!! ...", []),
    ],
)
def test_words(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens
    assert has_words(text) == bool(tokens)


def test_composed_and_decomposed_accents_are_one() -> None:
    assert tokenize(unicodedata.normalize("NFD", "Está ÉTÉ")) == tokenize("está été")


@given(st.text(st.characters(max_codepoint=127), max_size=80))
def test_ascii_text_gives_the_tokens_of_rouge_score(text: str) -> None:
    assert tokenize(text) == DefaultTokenizer(use_stemmer=False).tokenize(text)


@given(st.text(max_size=60))
def test_any_text_is_cut_without_error(text: str) -> None:
    tokens = tokenize(text)
    assert all(has_words(token) for token in tokens)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([IDENTICAL["chinese"]], "chinese"),
        ([IDENTICAL["japanese"]], "japanese"),
        ([IDENTICAL["thai"]], "unspaced"),
        ([IDENTICAL["hindi"], IDENTICAL["english"]], "spaced"),
        ([IDENTICAL["english"] * 3, IDENTICAL["chinese"]], "spaced"),
        (["", "123 !"], "spaced"),
    ],
)
def test_writing(texts: list[str], found: str) -> None:
    assert writing(texts) == found
