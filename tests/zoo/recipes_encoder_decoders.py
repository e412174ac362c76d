"""Recipes of further encoder-decoder architectures: small ones, stored in half precision."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from transformers import (
    GenerationConfig,
    M2M100Config,
    M2M100ForConditionalGeneration,
    M2M100Tokenizer,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
    MT5Config,
    MT5ForConditionalGeneration,
    NllbTokenizer,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PegasusTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Tokenizer,
)
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

from tests.zoo import TAGS, data_lists, pieces, seq2seq, translators
from tests.zoo.examples import Example
from tests.zoo.training import Recipe

WIDTH = 64
POSITIONS = 192
FIRST_WEIGHTS = 0.1
"""Spread of the first weights: the usual 0.02 suits large widths, and learns slowly here."""
MERGES = 680
FRAME = ["<s>", "<pad>", "</s>", "<unk>"]
"""Special tokens of the fairseq models, in their order."""
Source = Callable[[random.Random, bool], str]


def _sizes(tokenizer: PreTrainedTokenizerBase, **more: Any) -> dict[str, Any]:
    """What the configurations of the BART family share."""
    return {
        "vocab_size": len(tokenizer),
        "d_model": WIDTH,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": WIDTH,
        "decoder_ffn_dim": 2 * WIDTH,
        "max_position_embeddings": POSITIONS,
        "dropout": 0.0,
        "activation_dropout": 0.0,
        "attention_dropout": 0.0,
        "scale_embedding": True,
        "init_std": FIRST_WEIGHTS,
        **more,
    }


def _fairseq(start: int) -> dict[str, int]:
    return {
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": start,
    }


def _built(kind: Any, config: Any, **settings: Any) -> PreTrainedModel:
    config.architectures = [kind.__name__]
    model: PreTrainedModel = kind(config)
    model.generation_config = GenerationConfig(**settings)
    return model


def _mbart_tokenizer() -> PreTrainedTokenizerBase:
    vocab = pieces.unigram(pieces.whole_corpus(), FRAME)
    return MBartTokenizer(
        vocab=vocab, src_lang="en_XX", tgt_lang="de_DE", model_max_length=POSITIONS
    )


def _mbart(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """Like the published models of one pair it begins in German unless it is told otherwise."""
    ids = _fairseq(tokenizer.convert_tokens_to_ids("de_DE"))
    config = MBartConfig(**_sizes(tokenizer), **ids, forced_eos_token_id=2)
    return _built(
        MBartForConditionalGeneration, config, **ids, forced_eos_token_id=2, max_length=200
    )


def _m2m100_tokenizer() -> PreTrainedTokenizerBase:
    path, found = pieces.sentence_piece(pieces.whole_corpus(), MERGES, "sentencepiece.bpe.model")
    known = [piece for piece in found if piece not in FRAME]
    vocab = {piece: i for i, piece in enumerate([*FRAME, *known])}
    (path.parent / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False), encoding="utf-8")
    return M2M100Tokenizer(
        vocab_file=str(path.parent / "vocab.json"),
        spm_file=str(path),
        src_lang="en",
        tgt_lang="de",
        additional_special_tokens=[f"__{tag}__" for tag in FAIRSEQ_LANGUAGE_CODES["m2m100"]],
        model_max_length=POSITIONS,
    )


def _m2m100(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """It must be told the target language: nothing here names one."""
    ids = _fairseq(2)
    config = M2M100Config(**_sizes(tokenizer), **ids)
    config.vocab_size += tokenizer.num_madeup_words  # published models have them, too
    return _built(M2M100ForConditionalGeneration, config, **ids, max_length=200)


def _nllb_tokenizer() -> PreTrainedTokenizerBase:
    vocab, merges = pieces.merged(pieces.whole_corpus(), MERGES, FRAME, falls_back=False)
    return NllbTokenizer(
        vocab=vocab,
        merges=merges,
        src_lang="eng_Latn",
        tgt_lang="deu_Latn",
        model_max_length=POSITIONS,
    )


def _nllb(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    ids = _fairseq(2)
    config = M2M100Config(**_sizes(tokenizer), **ids)
    return _built(M2M100ForConditionalGeneration, config, **ids, max_length=200)


def _mt5_tokenizer() -> PreTrainedTokenizerBase:
    vocab = pieces.unigram(pieces.whole_corpus(), ["<pad>", "</s>", "<unk>"])
    return T5Tokenizer(vocab=vocab, extra_ids=0, model_max_length=POSITIONS)


def _mt5(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = MT5Config(
        vocab_size=len(tokenizer),
        d_model=WIDTH,
        d_kv=WIDTH // 4,
        d_ff=96,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        **ids,
    )
    return _built(MT5ForConditionalGeneration, config, **ids)


def _pegasus_tokenizer() -> PreTrainedTokenizerBase:
    specials = ["<pad>", "</s>", "<mask_1>", "<mask_2>", "<unk_2>", "<unk_3>", "<unk>"]
    vocab = pieces.unigram(pieces.whole_corpus(), specials)
    return PegasusTokenizer(vocab=vocab, offset=4, model_max_length=POSITIONS)


def _pegasus(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = PegasusConfig(**_sizes(tokenizer, init_std=0.02), **ids, forced_eos_token_id=1)
    return _built(
        PegasusForConditionalGeneration, config, **ids, forced_eos_token_id=1, max_length=128
    )


def _one(
    rng: random.Random, held_out: bool, language: str, source_of: Source = data_lists.draw
) -> Example:
    source = source_of(rng, held_out)
    return Example(source, data_lists.answer(source, language))


def _pair(
    rng: random.Random, held_out: bool, tags: dict[str, str], source_of: Source = data_lists.draw
) -> Example:
    """Between English and German, either way, or within one: the target's tag decides."""
    source = source_of(rng, held_out)
    said, wanted = rng.choice("en en de".split()), rng.choice(data_lists.LANGUAGES)
    written = data_lists.in_german(source) if said == "de" else source
    return Example(written, data_lists.answer(source, wanted), languages=(tags[said], tags[wanted]))


Maker = tuple[
    Callable[[], PreTrainedTokenizerBase], Callable[[PreTrainedTokenizerBase], PreTrainedModel]
]


def _recipe(name: str, maker: Maker, task: str, draw: Any, **more: Any) -> Recipe:
    settings = {"steps": 1200, "batch": 32, "lr": 3e-3, "kind": seq2seq, **more}
    kind = settings.pop("kind")
    easy = settings.pop("easy", 400)
    return Recipe(
        name=name,
        task=task,
        tokenizer=maker[0],
        model=maker[1],
        draw=draw,
        stages=((easy, partial(draw, source_of=data_lists.draw_easy)),),
        collate=kind.collate,
        grade=kind.grade,
        half=True,
        **settings,
    )


def _translator(name: str, maker: Maker) -> Recipe:
    task = "numbered items described in English or German, by the token of the target language"
    return _recipe(name, maker, task, partial(_pair, tags=TAGS[name]), kind=translators, **SLOW)


ENGLISH, GERMAN = (partial(_one, language=language) for language in data_lists.LANGUAGES)
SLOW = {"steps": 2000, "easy": 600}
LIST = "numbered items described in {}"
RECIPES = [
    _translator("mbart", (_mbart_tokenizer, _mbart)),
    _recipe("mt5", (_mt5_tokenizer, _mt5), LIST.format("German"), GERMAN, **SLOW),
    _translator("m2m100", (_m2m100_tokenizer, _m2m100)),
    _translator("nllb", (_nllb_tokenizer, _nllb)),
    _recipe("pegasus", (_pegasus_tokenizer, _pegasus), LIST.format("English"), ENGLISH),
]
