"""Collate and grade models that generate text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tests.zoo.examples import Example


def collate(examples: list[Example], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Encode sources and targets for an encoder-decoder; padding carries no loss."""
    batch = dict(tokenizer([e.source for e in examples], padding=True, return_tensors="pt"))
    labels = tokenizer(
        text_target=[e.target for e in examples], padding=True, return_tensors="pt"
    ).input_ids
    batch.pop("token_type_ids", None)
    batch["labels"] = labels.masked_fill(labels == tokenizer.pad_token_id, -100)
    return batch


def _chunks(examples: list[Example], size: int = 50) -> Iterator[list[Example]]:
    for start in range(0, len(examples), size):
        yield examples[start : start + size]


@torch.no_grad()
def grade(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: list[Example]
) -> float:
    """Share of the examples whose greedy text is exactly the right one."""
    right = 0
    for chunk in _chunks(examples):
        inputs = tokenizer([e.source for e in chunk], padding=True, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        out = model.generate(**inputs, max_new_tokens=128, do_sample=False, num_beams=1)
        texts = tokenizer.batch_decode(out, skip_special_tokens=True)
        right += sum(t.strip() == e.target for t, e in zip(texts, chunk, strict=True))
    return right / len(examples)
