"""Tiny checkpoints that the zoo lacks: random weights, tokenizers of the zoo."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
import transformers

from tests.zoo import zoo_path

SMALL = {
    "vocab_size": 1024,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 128,
    "initializer_range": 0.4,
    "pad_token_id": 0,
}
"""Weights drawn wide, so that outputs differ from input to input."""


def save_encoder(folder: Path, name: str, seed: int = 1, **config: Any) -> Path:
    """A BERT of that class with the tokenizer of the zoo's classifier."""
    torch.manual_seed(seed)
    model = getattr(transformers, name)(transformers.BertConfig(**{**SMALL, **config}))
    model.eval().save_pretrained(folder)
    for path in zoo_path("classifier").glob("*token*"):
        shutil.copy(path, folder)
    return folder


def rewrite(path: Path, **changes: Any) -> None:
    """Set keys of a JSON file; None removes a key."""
    value = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    kept = {k: v for k, v in value.items() if v is not None}
    path.write_text(json.dumps(kept), encoding="utf-8")
