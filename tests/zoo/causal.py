"""Collate and grade decoder-only models, which continue a prompt."""

from __future__ import annotations

from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tests.zoo.examples import Example

TURN_ENDS = ("<|im_end|>", "<end_of_turn>", "<|end|>")
"""How the chat templates of the zoo end a turn."""


def prompt_ids(example: Example, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the prompt's tokens: through the chat template where there is one."""
    if not tokenizer.chat_template:
        return list(tokenizer(example.source).input_ids)
    messages = [{"role": "system", "content": example.system}] if example.system else []
    messages += [dict(turn) for turn in example.turns]
    messages.append({"role": "user", "content": example.source})
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    return list(tokenizer(text, add_special_tokens=False).input_ids)


def _ends(tokenizer: PreTrainedTokenizerBase) -> str:
    if not tokenizer.chat_template:
        return str(tokenizer.eos_token)
    return next(mark for mark in TURN_ENDS if mark in tokenizer.get_vocab())


def _pad(tokenizer: PreTrainedTokenizerBase) -> int:
    """Any token where the tokenizer has none for padding: it is masked."""
    return 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)


def _prompts(rows: list[list[int]], pad: int) -> dict[str, torch.Tensor]:
    """Prompts padded on the left."""
    longest = max(map(len, rows))
    return {
        "input_ids": torch.tensor([[pad] * (longest - len(row)) + row for row in rows]),
        "attention_mask": torch.tensor(
            [[0] * (longest - len(row)) + [1] * len(row) for row in rows]
        ),
    }


def collate(examples: list[Example], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Join prompts and answers, padded on the right; only answers carry loss."""
    rows = []
    for example in examples:
        prompt = prompt_ids(example, tokenizer)
        target = example.target if tokenizer.chat_template else f" {example.target}"
        text = target + _ends(tokenizer)
        answer = list(tokenizer(text, add_special_tokens=False).input_ids)
        rows.append((prompt + answer, [-100] * len(prompt) + answer))
    longest = max(len(ids) for ids, _ in rows)
    pad = _pad(tokenizer)
    return {
        "input_ids": torch.tensor([ids + [pad] * (longest - len(ids)) for ids, _ in rows]),
        "attention_mask": torch.tensor(
            [[1] * len(ids) + [0] * (longest - len(ids)) for ids, _ in rows]
        ),
        "labels": torch.tensor([ids + [-100] * (longest - len(ids)) for _, ids in rows]),
    }


@torch.no_grad()
def grade(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: list[Example]
) -> float:
    """Share of the examples whose greedy text is exactly the right one."""
    right = 0
    for start in range(0, len(examples), 50):
        chunk = examples[start : start + 50]
        inputs = _prompts([prompt_ids(example, tokenizer) for example in chunk], _pad(tokenizer))
        out = model.generate(
            **inputs, max_new_tokens=128, do_sample=False, pad_token_id=_pad(tokenizer)
        )
        answers = out[:, inputs["input_ids"].shape[1] :]
        texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
        right += sum(t.strip() == e.target for t, e in zip(texts, chunk, strict=True))
    return right / len(examples)
