"""Collate and grade translation models that are told both languages by tokens."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch
from transformers import MBartTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from tests.zoo.examples import Example


def starting(tokenizer: PreTrainedTokenizerBase, target: str) -> dict[str, int]:
    """What `generate` is told so that it writes in the language `target`.

    mBART's decoder begins with the language; the others write it first.
    """
    names = "decoder_start_token_id" if isinstance(tokenizer, MBartTokenizer) else None
    code = getattr(tokenizer, "lang_code_to_id", {}).get(target)
    token = tokenizer.convert_tokens_to_ids(target) if code is None else code
    return {names or "forced_bos_token_id": token}


def _encoded(example: Example, tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    tokenizer.src_lang, tokenizer.tgt_lang = example.languages
    return dict(tokenizer(example.source, text_target=example.target))


def _padded(rows: list[list[int]], fill: int) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [fill] * (longest - len(row)) for row in rows])


def collate(examples: list[Example], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Encode each example in its own languages; padding carries no loss."""
    rows = [_encoded(example, tokenizer) for example in examples]
    return {
        "input_ids": _padded([row["input_ids"] for row in rows], tokenizer.pad_token_id),
        "attention_mask": _padded([row["attention_mask"] for row in rows], 0),
        "labels": _padded([row["labels"] for row in rows], -100),
    }


@torch.no_grad()
def grade(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: list[Example]
) -> float:
    """Share of the examples whose greedy text is exactly the right one."""
    by_target = defaultdict(list)
    for example in examples:
        by_target[example.languages[1]].append(example)
    right = 0
    for target, mine in by_target.items():
        for start in range(0, len(mine), 50):
            chunk = mine[start : start + 50]
            inputs = collate(chunk, tokenizer)
            del inputs["labels"]
            out = model.generate(
                **inputs, **starting(tokenizer, target), max_new_tokens=128, num_beams=1
            )
            texts = tokenizer.batch_decode(out, skip_special_tokens=True)
            right += sum(t.strip() == e.target for t, e in zip(texts, chunk, strict=True))
    return right / len(examples)
