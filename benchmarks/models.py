"""Models for timing: SmolLM2-135M where `make demo` has fetched it, else one of its size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bakeoff.core.modelref import ModelRef

SMOL = Path("examples/models/SmolLM2-135M-Instruct.Q4_1.gguf")


def smol(folder: Path) -> ModelRef:
    """The real model, or random weights in its shape."""
    if SMOL.is_file():
        return ModelRef.parse(str(SMOL.resolve()))
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    return _saved(LlamaForCausalLM, config, folder / "smol-sized", "llama")


def t5_small(folder: Path) -> ModelRef:
    """Random weights in the shape of T5-small (60 million parameters)."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=32128,
        d_model=512,
        d_kv=64,
        d_ff=2048,
        num_layers=6,
        num_heads=8,
        decoder_start_token_id=0,
        eos_token_id=1,
        pad_token_id=0,
    )
    return _saved(T5ForConditionalGeneration, config, folder / "t5-small-sized", "t5")


def _saved(kind: Any, config: Any, folder: Path, tokenizer: str) -> ModelRef:
    import shutil

    import torch

    from tests.zoo import zoo_path

    torch.manual_seed(0)
    kind(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(zoo_path(tokenizer) / name, folder / name)
    return ModelRef.parse(str(folder))
