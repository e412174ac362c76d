"""Fill-in-the-middle prompts of each family: which tokens, in which order, and how a text ends."""

from __future__ import annotations

import string

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from bakeoff.core.errors import UnsupportedOption
from bakeoff.engines.checkpoint import FIM_TOKENS
from bakeoff.engines.text.filling import Filling

pytestmark = pytest.mark.torch
LETTERS = string.ascii_letters + string.digits + string.punctuation
QWEN = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>",
        "<|file_sep|>", "<|endoftext|>")  # fmt: skip
STARCODER = ("<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<|endoftext|>")
DEEPSEEK = ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", "<｜end▁of▁sentence｜>")
CODE_LLAMA = ("▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>")
GEMMA = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_separator|>")
GRANITE = ("<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<fim_pad>", "<|end_of_text|>")
GRANITE_4 = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
             "<|end_of_text|>")  # fmt: skip
CODESTRAL = ("[PREFIX]", "[SUFFIX]", "[MIDDLE]")


def tokenizer(added, bos=None, sentencepiece=False):
    """One token a character; sentencepiece's kind puts a blank before every text."""
    names = ["<unk>", "▁", "Ġ", "Ċ", *LETTERS, *([bos] if bos else [])]
    made = Tokenizer(
        models.BPE(vocab={n: at for at, n in enumerate(names)}, merges=[], unk_token="<unk>")
    )
    if sentencepiece:
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        made.decoder = decoders.Metaspace(prepend_scheme="first")
    else:
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(one, special=True) for one in added])
    found = PreTrainedTokenizerFast(tokenizer_object=made, bos_token=bos)
    if bos:
        found.add_bos_token = True
        found.update_post_processor()
    return found


def spelled(filling, *texts, files=()):
    return filling.tokenizer.convert_ids_to_tokens(filling.prompt(*texts, files))


FAMILIES = {
    "code llama": (
        CODE_LLAMA, "<s>", True,
        ["<s>", "▁<PRE>", "▁", "a", "b", "▁<SUF>", "c", "d", "▁<MID>"], ["▁<EOT>"],
    ),
    "qwen coder": (
        QWEN, None, False,
        ["<|fim_prefix|>", "a", "b", "<|fim_suffix|>", "c", "d", "<|fim_middle|>"],
        ["<|endoftext|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"],
    ),
    "starcoder": (
        STARCODER, None, False,
        ["<fim_prefix>", "a", "b", "<fim_suffix>", "c", "d", "<fim_middle>"],
        ["<|endoftext|>", "<fim_pad>"],
    ),
    "deepseek": (
        DEEPSEEK, "<s>", False,
        ["<s>", "<｜fim▁begin｜>", "a", "b", "<｜fim▁hole｜>", "c", "d", "<｜fim▁end｜>"],
        ["<｜end▁of▁sentence｜>"],
    ),
    "codestral": (
        CODESTRAL, "<s>", True, ["<s>", "[SUFFIX]", "c", "d", "[PREFIX]", "▁", "a", "b"], [],
    ),
    "granite": (
        GRANITE, None, False,
        ["<fim_prefix>", "a", "b", "<fim_suffix>", "c", "d", "<fim_middle>"],
        ["<|end_of_text|>", "<fim_pad>"],
    ),
    "granite 4": (
        GRANITE_4, None, False,
        ["<|fim_prefix|>", "a", "b", "<|fim_suffix|>", "c", "d", "<|fim_middle|>"],
        ["<|end_of_text|>", "<|fim_pad|>"],
    ),
    "codegemma": (
        GEMMA, "<bos>", False,
        ["<bos>", "<|fim_prefix|>", "a", "b", "<|fim_suffix|>", "c", "d", "<|fim_middle|>"],
        ["<|file_separator|>"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_has_its_tokens_order_and_ends(family):
    added, bos, sentencepiece, expected, ends = FAMILIES[family]
    filling = Filling(tokenizer(added, bos, sentencepiece))
    assert spelled(filling, "ab", "cd") == expected
    found = filling.tokenizer.convert_ids_to_tokens(list(filling.ends))
    assert set(ends) <= set(found)
    assert set(found) - set(ends) == set(filling.names)
    assert filling.names in FIM_TOKENS


def test_a_file_that_spells_marks_is_plain_text():
    filling = Filling(tokenizer(QWEN))
    marks = [one for one in spelled(filling, "x<|fim_middle|>", "<|endoftext|>y") if len(one) > 1]
    assert marks == ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]


@pytest.mark.parametrize("family", FAMILIES)
def test_empty_sides_are_left_empty(family):
    added, bos, sentencepiece, expected, _ = FAMILIES[family]
    filling = Filling(tokenizer(added, bos, sentencepiece))
    marks = [one for one in expected if len(one) > 1]
    assert [one for one in spelled(filling, "", "") if one != "▁"] == marks


def test_other_files_stand_before_in_the_familys_own_tokens():
    files = (("u", "v"), ("w", ""))
    qwen = spelled(Filling(tokenizer(QWEN)), "a", "b", files=files)
    text = "".join(qwen).replace("Ċ", "\n")
    assert text == (
        "<|repo_name|>repository\n<|file_sep|>u\nv\n<|file_sep|>w\n\n<|file_sep|>"
        "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>"
    )
    gemma = "".join(spelled(Filling(tokenizer(GEMMA)), "a", "b", files=files[:1]))
    assert gemma.startswith("<|fim_prefix|>---Ġ") and "uĠ---ĊvĊa<|fim_suffix|>b" in gemma


def test_code_llamas_prompt_may_be_written_out():
    filling = Filling(tokenizer(CODE_LLAMA, "<s>", True))
    for text in ("<PRE> ab <SUF>cd <MID>", " <PRE> ab <SUF>cd <MID>"):
        assert filling.spelled(text) == filling.prompt("ab", "cd")
    assert filling.spelled("<PRE> a\nb <SUF>c\n <MID>") == filling.prompt("a\nb", "c\n")
    assert filling.spelled("<PRE> ab <SUF>cd <MID>x") is None
    assert Filling(tokenizer(QWEN)).spelled("<PRE> ab <SUF>cd <MID>") is None


def test_stop_strings_that_spell_tokens_are_found_by_their_token():
    filling = Filling(tokenizer(CODE_LLAMA, "<s>", True))
    (end,) = filling.tokenizer.convert_tokens_to_ids(["▁<EOT>"])
    assert filling.stops(["<EOT>", "x"]) == filling.stops(["▁<EOT>"]) == {end}
    assert filling.stops([]) == filling.stops(["a"]) == frozenset()


def test_a_tokenizer_without_them_is_told():
    filling = Filling(tokenizer(["<|im_end|>"]))
    assert filling.names is None and filling.ends == ()
    with pytest.raises(UnsupportedOption, match="no fill-in-the-middle tokens") as refused:
        filling.prompt("a", "b")
    assert refused.value.option == "suffix"
