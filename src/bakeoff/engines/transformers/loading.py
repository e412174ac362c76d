"""A checkpoint becomes a model and its tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import transformers

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.core.ports import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.options import EngineOptions

_CLASSES = {
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "encoder": "AutoModel",
}


@dataclass(frozen=True)
class Loaded:
    """A model in memory.

    Attributes:
        model: a `PreTrainedModel` in evaluation mode.
        tokenizer: its `PreTrainedTokenizerBase`.
        device: where the input goes, for example `cpu` or `cuda:0`.
        dtype: precision of the weights, for example `float32` or `bnb-4bit`.
        notices: what was noticed while loading.
    """

    model: Any
    tokenizer: Any
    device: str
    dtype: str
    notices: tuple[Notice, ...]


def load_model(facts: ModelFacts, options: EngineOptions) -> Loaded:
    """Load weights and tokenizer; blocks until they are in memory.

    Raises:
        ModelError: the model cannot be loaded.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    name = str(facts.ref.path) if facts.ref.scheme == "file" else facts.ref.name
    cls = getattr(transformers, _CLASSES[facts.capabilities.kind])
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, revision=facts.ref.revision)
        model = cls.from_pretrained(name, revision=facts.ref.revision, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise ModelLoadFailed(f"{facts.ref.uri}: {error}") from error
    return Loaded(model.eval(), tokenizer, "cpu", "float32", ())
