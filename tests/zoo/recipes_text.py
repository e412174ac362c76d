"""Recipes of the encoder-decoder models that describe lists: t5, bart, marian."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import sentencepiece
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    MarianConfig,
    MarianMTModel,
    MarianTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.zoo import data_lists, seq2seq, tokens
from tests.zoo.examples import Example
from tests.zoo.training import Recipe

VOCABULARY = 760
Source = Callable[[random.Random, bool], str]
WIDTH = 96
SUMMARIZE, TRANSLATE = "summarize: ", "translate English to German: "
TASKS = {
    "summarization": {
        "early_stopping": True,
        "length_penalty": 1.0,
        "max_length": 120,
        "min_length": 20,
        "num_beams": 2,
        "prefix": SUMMARIZE,
    },
    "translation_en_to_de": {
        "early_stopping": True,
        "max_length": 128,
        "num_beams": 2,
        "prefix": TRANSLATE,
    },
}


def _t5_tokenizer() -> PreTrainedTokenizerBase:
    texts = [f"{SUMMARIZE}{TRANSLATE}{line}" for line in data_lists.corpus()]
    specials = ["<pad>", "</s>", "<unk>"]
    tokenizer = tokens.byte_bpe(texts, VOCABULARY, specials, "$A </s>")
    tokenizer.add_special_tokens({"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"})
    return tokenizer


def _t5(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=WIDTH,
        d_kv=24,
        d_ff=192,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        task_specific_params=TASKS,
        architectures=["T5ForConditionalGeneration"],
    )
    model = T5ForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0
    )
    return model


def _prefixed(rng: random.Random, held_out: bool, source_of: Source = data_lists.draw) -> Example:
    source = source_of(rng, held_out)
    if rng.random() < 0.5:
        return Example(SUMMARIZE + source, data_lists.answer(source, "en"))
    return Example(TRANSLATE + source, data_lists.answer(source, "de"))


def _bart_tokenizer() -> PreTrainedTokenizerBase:
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = tokens.byte_bpe(data_lists.corpus(), VOCABULARY, specials, "<s> $A </s>")
    tokenizer.add_special_tokens(
        {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    )
    return tokenizer


def _bart(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    ids = {
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_eos_token_id": 2,
    }
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=WIDTH,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=192,
        decoder_ffn_dim=192,
        max_position_embeddings=256,
        dropout=0.0,
        activation_dropout=0.0,
        attention_dropout=0.0,
        normalize_before=False,  # published BART models have it; converters read it
        architectures=["BartForConditionalGeneration"],
        **{key: ids[key] for key in ids if key != "forced_eos_token_id"},
        forced_eos_token_id=2,
    )
    model = BartForConditionalGeneration(config)
    model.generation_config = GenerationConfig(**ids, forced_bos_token_id=0, max_length=142)
    return model


def _english(rng: random.Random, held_out: bool, source_of: Source = data_lists.draw) -> Example:
    source = source_of(rng, held_out)
    return Example(source, data_lists.answer(source, "en"))


def _german(rng: random.Random, held_out: bool, source_of: Source = data_lists.draw) -> Example:
    source = source_of(rng, held_out)
    return Example(source, data_lists.answer(source, "de"))


def _pieces(path: Path, name: str, texts: list[str]) -> list[str]:
    """Train one SentencePiece model with byte fallback; return its pieces."""
    (path / f"{name}.txt").write_text("\n".join(texts), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(path / f"{name}.txt"),
        model_prefix=str(path / name),
        model_type="bpe",
        vocab_size=700,
        byte_fallback=True,
        normalization_rule_name="identity",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    (path / f"{name}.model").rename(path / f"{name}.spm")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path / f"{name}.spm"))
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def _marian_tokenizer() -> PreTrainedTokenizerBase:
    folder = Path(tempfile.mkdtemp())
    rng = random.Random("corpus")
    sources = [data_lists.draw(rng, held_out=False) for _ in range(300)]
    answers = [data_lists.answer(source, "de") for source in sources]
    known = [
        " ".join(w for w in line.split() if not data_lists.UNSEEN & set(w)) for line in answers
    ]
    pieces = _pieces(folder, "source", sources) + _pieces(folder, "target", known)
    ordered = ["</s>", "<unk>"]
    ordered += sorted(set(pieces) - {"</s>", "<unk>", "<s>", "<pad>"})
    vocab = {piece: i for i, piece in enumerate([*ordered, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    return MarianTokenizer(
        source_spm=str(folder / "source.spm"),
        target_spm=str(folder / "target.spm"),
        vocab=str(folder / "vocab.json"),
        source_lang="en",
        target_lang="de",
        model_max_length=256,
    )


def _marian(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    pad = tokenizer.pad_token_id
    ids = {"pad_token_id": pad, "eos_token_id": 0, "decoder_start_token_id": pad}
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=WIDTH,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=192,
        decoder_ffn_dim=192,
        max_position_embeddings=256,
        dropout=0.0,
        activation_dropout=0.0,
        attention_dropout=0.0,
        activation_function="swish",
        scale_embedding=True,
        forced_eos_token_id=0,
        architectures=["MarianMTModel"],
        **ids,
    )
    model = MarianMTModel(config)
    # As in published Marian models the padding row, which starts the decoder, stays zero.
    shared = model.get_input_embeddings().weight
    with torch.no_grad():
        shared[pad].zero_()
    shared.register_hook(lambda grad: grad.index_fill(0, torch.tensor([pad]), 0.0))
    model.generation_config = GenerationConfig(
        **ids, forced_eos_token_id=0, max_length=256, bad_words_ids=[[pad]]
    )
    return model


T5 = Recipe(
    name="t5",
    task="numbered items described in English or, by another prefix, in German",
    tokenizer=_t5_tokenizer,
    model=_t5,
    draw=_prefixed,
    stages=((1200, partial(_prefixed, source_of=data_lists.draw_easy)),),
    collate=seq2seq.collate,
    grade=seq2seq.grade,
    steps=2200,
    batch=32,
)
BART = Recipe(
    name="bart",
    task="numbered items described in English",
    tokenizer=_bart_tokenizer,
    model=_bart,
    draw=_english,
    stages=((600, partial(_english, source_of=data_lists.draw_easy)),),
    collate=seq2seq.collate,
    grade=seq2seq.grade,
    steps=1500,
    batch=32,
    lr=2e-3,
)
MARIAN = Recipe(
    name="marian",
    task="numbered items described in German",
    tokenizer=_marian_tokenizer,
    model=_marian,
    draw=_german,
    stages=((600, partial(_german, source_of=data_lists.draw_easy)),),
    collate=seq2seq.collate,
    grade=seq2seq.grade,
    steps=1500,
    batch=32,
    lr=2e-3,
)
