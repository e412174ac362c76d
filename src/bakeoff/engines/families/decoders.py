"""Decoder-only families whose rows were shown to share a forward pass, at any length.

The zoo has a trained model of each; checked on transformers 5.24. Models of other families are
tried out when they are loaded.
"""

from __future__ import annotations

FAMILIES = frozenset(
    {"llama", "mistral", "qwen2", "qwen3", "phi3", "gemma3_text", "gpt2", "gpt_neox", "opt"}
)
