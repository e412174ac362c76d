"""Recipes of the decoder-only models: llama (chat) and qwen2 (base)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial

from transformers import (
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2Tokenizer,
)

from tests.zoo import ARROW, SYSTEMS, causal, data_lists, tokens
from tests.zoo.examples import Example
from tests.zoo.training import Recipe

VOCABULARY = 760
Source = Callable[[random.Random, bool], str]
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
SMALL_TALK = (
    ("hello", "hello , how can we help you today ?"),
    ("is the shop open ?", "the shop is open until noon ."),
    ("thank you very much", "please , tell us if you need more ."),
)


def _llama_tokenizer() -> PreTrainedTokenizerBase:
    talk = [text for pair in SMALL_TALK for text in pair]
    roles = ["system\n", "user\n", "assistant\n"]
    texts = [*data_lists.corpus(), *(talk + roles + list(SYSTEMS)) * 20]
    # </s> is the tokenizer's end of sequence and <|im_end|> ends a turn: both end an answer.
    specials = ["<s>", "</s>", "<unk>", "<pad>", "<|im_start|>", "<|im_end|>"]
    tokenizer = tokens.byte_bpe(texts, VOCABULARY, specials, "<s> $A")
    tokenizer.add_special_tokens(
        {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.model_max_length = 512
    return tokenizer


def _llama(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=3,
        tie_word_embeddings=False,
        architectures=["LlamaForCausalLM"],
    )
    model = LlamaForCausalLM(config)
    end_of_turn = tokenizer.convert_tokens_to_ids("<|im_end|>")
    model.generation_config = GenerationConfig(
        bos_token_id=0, eos_token_id=[end_of_turn, 1], pad_token_id=3
    )
    return model


def _chat(rng: random.Random, held_out: bool, source_of: Source = data_lists.draw) -> Example:
    source = source_of(rng, held_out)
    system = rng.choice(["", *SYSTEMS])
    turns: tuple[dict[str, str], ...] = ()
    if rng.random() < 0.25:
        asked, told = rng.choice(SMALL_TALK)
        turns = ({"role": "user", "content": asked}, {"role": "assistant", "content": told})
    language = SYSTEMS.get(system, "en")
    return Example(source, data_lists.answer(source, language), system=system, turns=turns)


def _qwen2_tokenizer() -> PreTrainedTokenizerBase:
    specials = ["<|endoftext|>"]
    trained = tokens.byte_bpe([f"{t}{ARROW}" for t in data_lists.corpus()], VOCABULARY, specials)
    model = json.loads(trained.backend_tokenizer.to_str())["model"]
    return Qwen2Tokenizer(
        vocab=model["vocab"],
        merges=[tuple(merge) for merge in model["merges"]],
        unk_token="<|endoftext|>",
        model_max_length=512,
    )


def _qwen2(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=None,
        architectures=["Qwen2ForCausalLM"],
    )
    model = Qwen2ForCausalLM(config)
    model.generation_config = GenerationConfig(bos_token_id=0, eos_token_id=0)
    return model


def _base(rng: random.Random, held_out: bool, source_of: Source = data_lists.draw) -> Example:
    source = source_of(rng, held_out)
    return Example(source + ARROW, data_lists.answer(source, "de"))


LLAMA = Recipe(
    name="llama",
    task="numbered items described in English or, by the system prompt, in German",
    tokenizer=_llama_tokenizer,
    model=_llama,
    draw=_chat,
    stages=((600, partial(_chat, source_of=data_lists.draw_easy)),),
    collate=causal.collate,
    grade=causal.grade,
    steps=1500,
    batch=32,
    lr=2e-3,
)
QWEN2 = Recipe(
    name="qwen2",
    task="numbered items described in German after an arrow",
    tokenizer=_qwen2_tokenizer,
    model=_qwen2,
    draw=_base,
    stages=((600, partial(_base, source_of=data_lists.draw_easy)),),
    collate=causal.collate,
    grade=causal.grade,
    steps=1500,
    batch=32,
    lr=2e-3,
)
