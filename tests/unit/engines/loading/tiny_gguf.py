"""A tiny Llama in a GGUF file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np

GGUF_TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}"
TOKENS = [*"abcdefgh", "Ġ", "<|end|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "ab"]
WIDTH, LAYERS, HEADS, FEED = 16, 2, 2, 32


def write_gguf(path: Path, architecture: str = "llama", **fields: Any) -> Path:
    """A tiny Llama with random weights, as llama.cpp's converter would write it."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("tiny")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(TOKENS)
    writer.add_token_types([1] * 9 + [3] * 4 + [1])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(9)
    writer.add_bos_token_id(9)
    writer.add_add_bos_token(False)
    writer.add_chat_template(GGUF_TEMPLATE)
    for name, value in fields.items():
        writer.add_uint16(name.replace("__", "."), value)
    random = np.random.default_rng(7)
    for name, shape in gguf_tensors().items():
        writer.add_tensor(name, random.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def gguf_tensors() -> dict[str, tuple[int, ...]]:
    square, up, down = (WIDTH, WIDTH), (FEED, WIDTH), (WIDTH, FEED)
    block = {"attn_q": square, "attn_k": square, "attn_v": square, "attn_output": square,
             "ffn_gate": up, "ffn_up": up, "ffn_down": down, "attn_norm": (WIDTH,),
             "ffn_norm": (WIDTH,)}  # fmt: skip
    found: dict[str, tuple[int, ...]] = {
        f"blk.{i}.{name}.weight": shape for i in range(LAYERS) for name, shape in block.items()
    }
    found["token_embd.weight"] = found["output.weight"] = (len(TOKENS), WIDTH)
    found["output_norm.weight"] = (WIDTH,)
    return found
