"""How each model of the zoo is built and trained."""

from __future__ import annotations

import random

from transformers import (
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.zoo import (
    data_dates,
    recipes_causal,
    recipes_decoders,
    recipes_encoder,
    recipes_encoder_decoders,
    recipes_text,
    seq2seq,
    tokens,
)
from tests.zoo.examples import Example
from tests.zoo.training import Recipe


def _dates(rng: random.Random, held_out: bool) -> Example:
    return Example(*data_dates.draw(rng, held_out))


def _dates_t5(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=96,
        d_kv=24,
        d_ff=192,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        architectures=["T5ForConditionalGeneration"],
    )
    model = T5ForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, max_new_tokens=16
    )
    return model


RECIPES = {
    recipe.name: recipe
    for recipe in [
        Recipe(
            name="dates-t5",
            task="dates in 19 spellings, day first, to ISO form",
            tokenizer=tokens.characters,
            model=_dates_t5,
            draw=_dates,
            collate=seq2seq.collate,
            grade=seq2seq.grade,
            steps=2000,
            graded=1000,
            half=True,
        ),
        recipes_text.T5,
        recipes_causal.LLAMA,
        recipes_text.BART,
        recipes_encoder.QA,
        recipes_causal.QWEN2,
        recipes_text.MARIAN,
        recipes_encoder.CLASSIFIER,
        recipes_encoder.NLI,
        *recipes_decoders.RECIPES,
        *recipes_encoder_decoders.RECIPES,
    ]
}
