"""Which architectures the installed converter knows, without importing it (it imports torch)."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path

_REGISTERED = re.compile(r'@register_loader\("(\w+)Config"\)')
_HEAD = re.compile(r"(ForConditionalGeneration|ForCausalLM|LMHeadModel|MTModel)$")
_GGUF = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "t5": "T5", "gpt2": "GPT2"}
"""GGUF files name a family where checkpoints name a class; these are dequantised and converted."""


def converts(architecture: str) -> bool:
    """Whether the converter has a loader for this class of the transformers library."""
    family = _GGUF.get(architecture) or _HEAD.sub("", architecture)
    return family in registered()


@cache
def registered() -> frozenset[str]:
    """Families that the converter registers a loader for, by the beginning of their class names.

    Read from its source; empty where ctranslate2 is not installed.
    """
    found = importlib.util.find_spec("ctranslate2")
    if found is None or found.origin is None:
        return frozenset()
    source = Path(found.origin).parent / "converters" / "transformers.py"
    return frozenset(_REGISTERED.findall(source.read_text(encoding="utf-8")))
