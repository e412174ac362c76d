"""Collate and grade encoders: answer spans and labels."""

from __future__ import annotations

from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tests.zoo.examples import Example


def _encode(examples: list[Example], tokenizer: PreTrainedTokenizerBase) -> Any:
    first = [example.source for example in examples]
    if any(example.pair for example in examples):
        second = [example.pair for example in examples]
        return tokenizer(first, second, padding=True, truncation="only_second", return_tensors="pt")
    return tokenizer(first, padding=True, truncation=True, return_tensors="pt")


def collate_spans(examples: list[Example], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Encode questions and contexts; no answer points at the first token."""
    batch = _encode(examples, tokenizer)
    starts, ends = [], []
    for row, example in enumerate(examples):
        start = end = None
        if example.span:
            start = batch.char_to_token(row, example.span[0], 1)
            end = batch.char_to_token(row, example.span[1] - 1, 1)
        starts.append(start or 0)
        ends.append(end or 0)
    return {
        **batch,
        "start_positions": torch.tensor(starts),
        "end_positions": torch.tensor(ends),
        "hints": _hint_tokens(batch, examples),
    }


def _hint_tokens(batch: Any, examples: list[Example]) -> torch.Tensor:
    """Return 1.0 for each token (row, token, kind of hint) that a hint covers.

    The last kind needs no hint: tokens of the context that stand in the question, too.
    """
    rows, longest = batch["input_ids"].shape
    kinds = len(examples[0].hints)
    hints = torch.zeros(rows, longest, kinds + 1)
    for row, example in enumerate(examples):
        for kind, spans in enumerate(example.hints):
            for first, end in spans:
                start = batch.char_to_token(row, first, 1)
                last = batch.char_to_token(row, end - 1, 1)
                if start is not None and last is not None:
                    hints[row, start : last + 1, kind] = 1.0
        ids, sides = batch["input_ids"][row].tolist(), batch.sequence_ids(row)
        asked = {token for token, side in zip(ids, sides, strict=True) if side == 0}
        for place, (token, side) in enumerate(zip(ids, sides, strict=True)):
            hints[row, place, kinds] = float(side == 1 and token in asked)
    return hints


def span_loss(model: PreTrainedModel, batch: dict[str, Any]) -> torch.Tensor:
    """Loss of the answer's ends, plus that of reading the hints off the last layer but one.

    One answer a passage teaches little; the hints tell each token whether it is about the
    person asked for, whether it is of the kind asked for, and whether it stands in the question:
    what the last layer needs. The head that reads them, `model.hint_head`, is not saved.
    """
    hints = batch.pop("hints")
    out = model(**batch, output_hidden_states=True)
    read = model.hint_head(out.hidden_states[-2])
    mask = batch["attention_mask"].bool()
    side = torch.nn.functional.binary_cross_entropy_with_logits(read[mask], hints[mask])
    loss: torch.Tensor = out.loss + 3.0 * side
    return loss


def _best_span(start: torch.Tensor, end: torch.Tensor, allowed: torch.Tensor) -> tuple[int, int]:
    """Return the best token span inside the context, or (0, 0) where no answer scores more."""
    scores = start[:, None] + end[None, :]
    keep = allowed[:, None] & allowed[None, :]
    keep = torch.triu(keep) & ~torch.triu(keep, diagonal=20)
    best = int(scores.masked_fill(~keep, -1e9).argmax())
    first, last = divmod(best, len(start))
    return (0, 0) if scores[0, 0] >= scores[first, last] else (first, last)


@torch.no_grad()
def grade_spans(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: list[Example]
) -> float:
    """Share of the questions answered with exactly the right characters, or rightly not."""
    right = 0
    for example in examples:
        batch = _encode([example], tokenizer)
        out = model(**batch)
        allowed = torch.tensor([index == 1 for index in batch.sequence_ids(0)])
        first, last = _best_span(out.start_logits[0], out.end_logits[0], allowed)
        span = None
        if last:
            span = (batch.token_to_chars(0, first).start, batch.token_to_chars(0, last).end)
        right += span == example.span
    return right / len(examples)


def collate_labels(labels: tuple[str, ...]) -> Any:
    """Return a collate function for texts, or pairs, with one of `labels`."""

    def collate(examples: list[Example], tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
        targets = torch.tensor([labels.index(example.target) for example in examples])
        batch = {**_encode(examples, tokenizer), "labels": targets}
        if examples[0].flags:
            batch["flags"] = torch.tensor([example.flags for example in examples]).float()
        return batch

    return collate


def flag_loss(model: PreTrainedModel, batch: dict[str, Any]) -> torch.Tensor:
    """Loss of the label, plus that of reading the flags off the first token's inner state.

    As with `span_loss` the flags say what the last layers need to compare.
    """
    flags = batch.pop("flags")
    out = model(**batch, output_hidden_states=True)
    read = model.hint_head(out.hidden_states[-2][:, 0])
    side = torch.nn.functional.binary_cross_entropy_with_logits(read, flags)
    loss: torch.Tensor = out.loss + 4.0 * side
    return loss


@torch.no_grad()
def grade_labels(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: list[Example]
) -> float:
    """Share of the texts, or pairs, that get the right label."""
    right = 0
    for start in range(0, len(examples), 100):
        chunk = examples[start : start + 100]
        best = model(**_encode(chunk, tokenizer)).logits.argmax(-1).tolist()
        names = [model.config.id2label[index] for index in best]
        right += sum(name == e.target for name, e in zip(names, chunk, strict=True))
    return right / len(examples)
