"""Recipes of further decoder-only architectures: small ones, stored in half precision."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from transformers import (
    AddedToken,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GemmaTokenizer,
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Tokenizer,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    GPTNeoXTokenizer,
    LlamaTokenizer,
    MistralConfig,
    MistralForCausalLM,
    OPTConfig,
    OPTForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Qwen2Tokenizer,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from tests.zoo import ARROW, SYSTEMS, causal, data_lists, pieces
from tests.zoo.examples import Example
from tests.zoo.recipes_causal import CHAT_TEMPLATE, SMALL_TALK
from tests.zoo.training import Recipe

VOCABULARY = 740
WIDTH = 64
POSITIONS = 512
FIRST_WEIGHTS = 0.1
"""Spread of the first weights: the usual 0.02 suits large widths, and learns slowly here."""
LEARNED = 320
"""Positions of the models that learn each of them, and so have to store it."""
SLOW = {"rope_type": "default", "rope_theta": 1e6}
"""Positions that turn slowly, as in the published models of long windows."""
GEMMA_TEMPLATE = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}"
    "{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
    "{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"
)
PHI_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}"
)
Source = Callable[[random.Random, bool], str]


def _talk() -> list[str]:
    """What chats hold beside lists; often enough that every word becomes a token."""
    said = [text for pair in SMALL_TALK for text in pair]
    return [*said, "system\n", "user\n", "assistant\n", "model\n", *SYSTEMS] * 60


def _base_texts(language: str) -> list[str]:
    return [text + ARROW for text in data_lists.corpus((language,))]


def _sizes(tokenizer: PreTrainedTokenizerBase, **more: Any) -> dict[str, Any]:
    """What the configurations of the Llama family share."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": POSITIONS,
        "tie_word_embeddings": True,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **more,
    }


def _built(kind: Any, config: Any, *ends: int) -> PreTrainedModel:
    """A model whose texts end at each of `ends`; without any, at the configuration's end."""
    config.architectures = [kind.__name__]
    if hasattr(config, "initializer_range"):  # OPT calls it otherwise
        config.initializer_range = FIRST_WEIGHTS
    model: PreTrainedModel = kind(config)
    model.generation_config = GenerationConfig(
        bos_token_id=config.bos_token_id,
        eos_token_id=list(ends) or config.eos_token_id,
        pad_token_id=config.pad_token_id,
    )
    return model


def _placed(model: PreTrainedModel, positions: str) -> PreTrainedModel:
    """Begin learned positions as waves: a place is then like its neighbours from the start."""
    (table,) = (w for name, w in model.named_parameters() if name.endswith(f"{positions}.weight"))
    turns = torch.exp(torch.arange(0, WIDTH, 2) * (-math.log(1e4) / WIDTH))
    angles = torch.arange(len(table))[:, None] * turns
    with torch.no_grad():
        table.copy_(torch.cat([angles.sin(), angles.cos()], dim=1) * FIRST_WEIGHTS)
    return model


def _qwen3_tokenizer() -> PreTrainedTokenizerBase:
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocab, merges = pieces.byte_level([*data_lists.corpus(), *_talk()], VOCABULARY, specials)
    tokenizer = Qwen2Tokenizer(
        vocab=vocab,
        merges=merges,
        unk_token=None,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        model_max_length=POSITIONS,
    )
    tokenizer.chat_template = CHAT_TEMPLATE.replace("{{ bos_token }}", "")
    return tokenizer


def _qwen3(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = Qwen3Config(**_sizes(tokenizer, head_dim=16))
    end_of_text = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    return _built(Qwen3ForCausalLM, config, config.eos_token_id, end_of_text)


def _gemma3_tokenizer() -> PreTrainedTokenizerBase:
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<start_of_turn>", "<end_of_turn>"]
    vocab, merges = pieces.merged([*data_lists.corpus(), *_talk()], VOCABULARY, specials)
    tokenizer = GemmaTokenizer(
        vocab=vocab,
        merges=merges,
        add_bos_token=True,
        additional_special_tokens=specials[-2:],
        model_max_length=POSITIONS,
    )
    tokenizer.chat_template = GEMMA_TEMPLATE
    return tokenizer


def _gemma3(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = Gemma3TextConfig(
        **_sizes(tokenizer, head_dim=16, query_pre_attn_scalar=16),
        sliding_window=16,
        layer_types=["sliding_attention", "full_attention"],
    )
    end_of_turn = tokenizer.convert_tokens_to_ids("<end_of_turn>")
    return _built(Gemma3ForCausalLM, config, config.eos_token_id, end_of_turn)


def _llama_style(texts: list[str], specials: list[str], **more: Any) -> PreTrainedTokenizerBase:
    vocab, merges = pieces.merged(texts, VOCABULARY, ["<unk>", "<s>", "</s>", *specials])
    return LlamaTokenizer(vocab=vocab, merges=merges, model_max_length=POSITIONS, **more)


def _mistral_tokenizer() -> PreTrainedTokenizerBase:
    return _llama_style(_base_texts("de"), [], add_bos_token=True)


def _mistral(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    """The window holds what an answer has to look back for, but not prompt and answer."""
    return _built(
        MistralForCausalLM,
        MistralConfig(**_sizes(tokenizer, sliding_window=88, rope_parameters=SLOW)),
    )


def _phi3_tokenizer() -> PreTrainedTokenizerBase:
    specials = ["<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
    tokenizer = _llama_style(
        [*data_lists.corpus(), *_talk()],
        specials,
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        add_bos_token=False,
        # As in the published tokenizer a mark takes the line break behind it.
        additional_special_tokens=[
            AddedToken(mark, rstrip=True, normalized=False, special=True) for mark in specials[1:]
        ],
    )
    tokenizer.chat_template = PHI_TEMPLATE
    return tokenizer


def _phi3(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    rope = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    config = Phi3Config(
        **_sizes(tokenizer, rope_parameters=rope), original_max_position_embeddings=POSITIONS
    )
    ends = [tokenizer.convert_tokens_to_ids(mark) for mark in ("<|assistant|>", "<|end|>")]
    return _built(Phi3ForCausalLM, config, config.eos_token_id, *ends)


def _gpt2_tokenizer() -> PreTrainedTokenizerBase:
    vocab, merges = pieces.byte_level(_base_texts("en"), VOCABULARY, ["<|endoftext|>"])
    return GPT2Tokenizer(vocab=vocab, merges=merges, model_max_length=LEARNED)


def _gpt2(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=LEARNED,
        n_embd=WIDTH,
        n_inner=2 * WIDTH,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    return _placed(_built(GPT2LMHeadModel, config), "wpe")


def _opt_tokenizer() -> PreTrainedTokenizerBase:
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    vocab, merges = pieces.byte_level(_base_texts("en"), VOCABULARY, specials)
    return GPT2Tokenizer(
        vocab=vocab,
        merges=merges,
        unk_token="</s>",
        bos_token="</s>",
        eos_token="</s>",
        pad_token="<pad>",
        add_bos_token=True,
        model_max_length=LEARNED,
    )


def _opt(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = OPTConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        word_embed_proj_dim=WIDTH,
        ffn_dim=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=LEARNED,
        dropout=0.0,
        attention_dropout=0.0,
        pad_token_id=1,
        bos_token_id=2,
        eos_token_id=2,
    )
    return _placed(_built(OPTForCausalLM, config), "embed_positions")


def _gpt_neox_tokenizer() -> PreTrainedTokenizerBase:
    specials = ["<|endoftext|>", "<|padding|>"]
    vocab, merges = pieces.byte_level(_base_texts("de"), VOCABULARY, specials)
    return GPTNeoXTokenizer(vocab=vocab, merges=merges, model_max_length=POSITIONS)


def _gpt_neox(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    config = GPTNeoXConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=POSITIONS,
        rotary_pct=0.25,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
    )
    return _built(GPTNeoXForCausalLM, config)


def _chat(rng: random.Random, held_out: bool, source_of: Source = data_lists.draw) -> Example:
    """A list, behind a system prompt or not, now and then behind an earlier turn."""
    source, system = source_of(rng, held_out), rng.choice(["", *SYSTEMS])
    turns: tuple[dict[str, str], ...] = ()
    if rng.random() < 0.1:
        asked, told = rng.choice(SMALL_TALK)
        turns = ({"role": "user", "content": asked}, {"role": "assistant", "content": told})
    answer = data_lists.answer(source, SYSTEMS.get(system, "en"))
    return Example(source, answer, system=system, turns=turns)


def _told(rng: random.Random, held_out: bool, source_of: Source = data_lists.draw) -> Example:
    """The same where there is no system role: what it would say begins the user's first turn."""
    example = _chat(rng, held_out, source_of)
    first, *rest = [*example.turns, {"role": "user", "content": example.source}]
    if example.system:
        first = {**first, "content": f"{example.system}\n\n{first['content']}"}
    *turns, last = [first, *rest]
    return Example(last["content"], example.target, turns=tuple(turns))


def _base(
    rng: random.Random, held_out: bool, language: str, source_of: Source = data_lists.draw
) -> Example:
    source = source_of(rng, held_out)
    return Example(source + ARROW, data_lists.answer(source, language))


CHATTING = "numbered items described in English or, by the {}, in German"
AFTER = "numbered items described in {} after an arrow"
ENGLISH, GERMAN = (partial(_base, language=language) for language in data_lists.LANGUAGES)
Maker = tuple[
    Callable[[], PreTrainedTokenizerBase], Callable[[PreTrainedTokenizerBase], PreTrainedModel]
]


def _recipe(name: str, maker: Maker, task: str, draw: Any, **more: Any) -> Recipe:
    settings = {"steps": 1400, "batch": 32, "lr": 3e-3, **more}
    return Recipe(
        name=name,
        task=task,
        tokenizer=maker[0],
        model=maker[1],
        draw=draw,
        stages=((250, partial(draw, source_of=data_lists.draw_easy)),),
        collate=causal.collate,
        grade=causal.grade,
        half=True,
        **settings,
    )


RECIPES = [
    _recipe(
        "qwen3", (_qwen3_tokenizer, _qwen3), CHATTING.format("system prompt"), _chat, steps=2400
    ),
    _recipe(
        "gemma3", (_gemma3_tokenizer, _gemma3), CHATTING.format("first words"), _told, steps=1200
    ),
    _recipe("mistral", (_mistral_tokenizer, _mistral), AFTER.format("German"), GERMAN),
    _recipe(
        "phi3", (_phi3_tokenizer, _phi3), CHATTING.format("system prompt"), _chat, steps=1700
    ),
    _recipe("gpt2", (_gpt2_tokenizer, _gpt2), AFTER.format("English"), ENGLISH, steps=2000),
    _recipe("opt", (_opt_tokenizer, _opt), AFTER.format("English"), ENGLISH, steps=3500),
    _recipe(
        "gpt-neox", (_gpt_neox_tokenizer, _gpt_neox), AFTER.format("German"), GERMAN, steps=1800
    ),
]
