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


def smol_folder(folder: Path) -> Path:
    """The same as a folder that every server reads, float32."""
    from benchmarks.generation import plain_model

    ref = smol(folder)
    target = folder / "smol-folder"
    if not SMOL.is_file():
        return folder / "smol-sized"
    from transformers import AutoTokenizer

    model = plain_model(ref, 2)
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(SMOL.parent, gguf_file=SMOL.name).save_pretrained(target)
    return target


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


def bart_base(folder: Path) -> ModelRef:
    """Random weights in the shape of BART-base (139 million parameters)."""
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=50265,
        d_model=768,
        encoder_layers=6,
        decoder_layers=6,
        encoder_attention_heads=12,
        decoder_attention_heads=12,
        encoder_ffn_dim=3072,
        decoder_ffn_dim=3072,
        max_position_embeddings=1024,
        decoder_start_token_id=2,
        forced_bos_token_id=None,
        forced_eos_token_id=None,
        normalize_before=False,  # published BART models have it; converters read it
    )
    return _saved(BartForConditionalGeneration, config, folder / "bart-base-sized", "bart")


def _saved(kind: Any, config: Any, folder: Path, tokenizer: str) -> ModelRef:
    import torch

    from tests.zoo import zoo_path

    torch.manual_seed(0)
    model = kind(config)
    with torch.no_grad():  # drawn so wide that texts have many different tokens
        for parameter in model.parameters():
            parameter.mul_(2.0 if parameter.dim() > 1 else 1.0)
    model.save_pretrained(folder)
    _lengthened(zoo_path(tokenizer) / "tokenizer_config.json", folder / "tokenizer_config.json")
    _widened(zoo_path(tokenizer) / "tokenizer.json", folder / "tokenizer.json", config.vocab_size)
    return ModelRef.parse(str(folder))


def _lengthened(source: Path, target: Path) -> None:
    """Let prompts be as long as for the published T5-small; the zoo's are shorter."""
    import json

    content = json.loads(source.read_text(encoding="utf-8"))
    target.write_text(json.dumps({**content, "model_max_length": 512}), encoding="utf-8")


def _widened(source: Path, target: Path, size: int) -> None:
    """A tokenizer with as many entries as the model has embeddings, as published ones have."""
    import json

    content = json.loads(source.read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    taken = {*vocabulary.values(), *(token["id"] for token in content["added_tokens"])}
    for token in sorted(set(range(size)) - taken):
        vocabulary[f"unused{token}"] = token
    target.write_text(json.dumps(content), encoding="utf-8")
