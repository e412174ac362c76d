"""What changes the logits of a step: one object for a batch, whose rows may all differ.

The arithmetic is the library's own, so that a row's numbers are the same to the last bit. What is
the library's no longer is that a row's left padding counts as part of its prompt, and that one
setting holds for the whole batch. Greedy and sampled rows pass logits, beams log-probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bakeoff.engines.batch.rows import Row
from bakeoff.engines.transformers.sampling import Filters, Uniforms, draw

Rule = Callable[[Any, Any], Any]
_OFF = float("-inf")


@dataclass(frozen=True)
class Shape:
    """How rows lie in the tensors of a batch.

    Attributes:
        rows: the rows; each stands for `lanes` lines of the tensors.
        width: columns of `input_ids` before the first new token.
        pads: columns of padding on the left of each row.
        prompt: those columns as a tensor, one line for each sequence, padding replaced by the
            row's first token.
        device: where the tensors are.
    """

    rows: Sequence[Row]
    width: int
    pads: Sequence[int]
    prompt: Any
    device: str

    def each(self, value: Callable[[Row], Any]) -> list[Any]:
        """A value for each line."""
        return [value(row) for row in self.rows for _ in range(row.lanes)]

    def column(self, value: Callable[[Row], float]) -> Any:
        """A value for each line, as a column."""
        return torch.tensor(self.each(value), dtype=torch.float32, device=self.device)[:, None]

    def lines(self, chosen: Callable[[Row], bool]) -> Any:
        """Numbers of the lines whose row is chosen."""
        return torch.tensor(np.flatnonzero(self.each(chosen)), device=self.device)

    def written(self, input_ids: Any) -> int:
        """New tokens so far."""
        return int(input_ids.shape[1]) - self.width

    def real(self, input_ids: Any) -> Any:
        """`input_ids` without padding: what stands there is a token of the row's own prompt."""
        return torch.cat([self.prompt, input_ids[:, self.width :]], dim=1)


class Rules:
    """All rules of a batch, in order; empty where no row needs any."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """The changed scores; may change them in place."""
        for rule in self.rules:
            scores = rule(input_ids, scores)
        return scores


def build(shape: Shape, last_token: int | None) -> list[Rule]:
    """The rules that some row needs, in the order in which the library would apply them.

    Args:
        shape: the batch.
        last_token: what the checkpoint wants as the last token of a text that runs to its
            limit, or None.
    """
    rules = shaping(shape, last_token)
    if any(row.decoding.sampled for row in shape.rows):
        rules.append(_sample(shape))
    return rules


def shaping(shape: Shape, last_token: int | None) -> list[Rule]:
    """The same without the last one, which draws the tokens of sampled rows."""
    settings = [row.decoding for row in shape.rows]
    rules: list[Rule] = []
    if any(one.logit_bias for one in settings):
        rules.append(_bias(shape))
    if any(one.repetition_penalty != 1.0 for one in settings):
        rules.append(_repetition(shape))
    if any(one.presence_penalty or one.frequency_penalty for one in settings):
        rules.append(_counts(shape))
    for size in sorted({one.no_repeat_ngram_size for one in settings} - {0}):
        rules.append(_ngrams(shape, size))
    if any(one.min_new_tokens for one in settings):
        rules.append(_least(shape))
    if any(row.first is not None for row in shape.rows):
        rules.append(_first(shape))
    if last_token is not None:
        rules.append(_last(shape, last_token))
    return rules


def _bias(shape: Shape) -> Rule:
    triples = [
        (line, token, bias)
        for line, pairs in enumerate(shape.each(lambda row: row.decoding.logit_bias))
        for token, bias in pairs
    ]
    lines, tokens, biases = (torch.tensor(list(part)) for part in zip(*triples, strict=True))
    lines, tokens = lines.to(shape.device), tokens.to(shape.device)
    biases = biases.to(shape.device, torch.float32)

    def apply(input_ids: Any, scores: Any) -> Any:
        scores[lines, tokens] += biases
        return scores

    return apply


def _repetition(shape: Shape) -> Rule:
    penalty = shape.column(lambda row: row.decoding.repetition_penalty)

    def apply(input_ids: Any, scores: Any) -> Any:
        seen = shape.real(input_ids)
        found = torch.gather(scores, 1, seen)
        found = torch.where(found < 0, found * penalty, found / penalty)
        return scores.scatter(1, seen, found)

    return apply


def _counts(shape: Shape) -> Rule:
    once = shape.column(lambda row: row.decoding.presence_penalty)
    each = shape.column(lambda row: row.decoding.frequency_penalty)

    def apply(input_ids: Any, scores: Any) -> Any:
        new = input_ids[:, shape.width :]
        scores = scores.scatter(1, new, torch.gather(scores, 1, new) - once)
        return scores.scatter_add(1, new, (-each).expand_as(new))

    return apply


def _ngrams(shape: Shape, size: int) -> Rule:
    """Forbid the tokens that would repeat `size` tokens of prompt and text."""
    lines = shape.lines(lambda row: row.decoding.no_repeat_ngram_size == size)
    pads = torch.tensor(
        [pad for row, pad in zip(shape.rows, shape.pads, strict=True) for _ in range(row.lanes)],
        device=shape.device,
    )[lines]

    def apply(input_ids: Any, scores: Any) -> Any:
        ids = input_ids[lines]
        if ids.shape[1] < size:
            return scores
        grams = ids.unfold(1, size, 1)
        begins = torch.arange(grams.shape[1], device=ids.device)
        tail = ids[:, ids.shape[1] - size + 1 :]
        same = (grams[:, :, :-1] == tail[:, None, :]).all(-1) & (begins >= pads[:, None])
        at = same.nonzero(as_tuple=True)
        scores[lines[at[0]], grams[:, :, -1][at]] = _OFF
        return scores

    return apply


def _least(shape: Shape) -> Rule:
    """No end before `min_new_tokens`."""
    wanted = [
        (line, row.decoding.min_new_tokens, sorted(row.end_ids))
        for line, row in enumerate(shape.each(lambda row: row))
        if row.decoding.min_new_tokens and row.end_ids
    ]
    longest = max((least for _, least, _ in wanted), default=0)

    def apply(input_ids: Any, scores: Any) -> Any:
        written = shape.written(input_ids)
        if written < longest:
            for line, least, ends in wanted:
                if written < least:
                    scores[line, ends] = _OFF
        return scores

    return apply


def _force(scores: Any, line: int, token: int) -> None:
    scores[line] = _OFF
    scores[line, token] = 0.0


def _first(shape: Shape) -> Rule:
    """The decoder's first token, for models that are told the language by it."""
    tokens = shape.each(lambda row: row.first)

    def apply(input_ids: Any, scores: Any) -> Any:
        if shape.written(input_ids) == 0:
            for line, token in enumerate(tokens):
                if token is not None:
                    _force(scores, line, token)
        return scores

    return apply


def _last(shape: Shape, token: int) -> Rule:
    limits = shape.each(lambda row: row.max_new - 1)

    def apply(input_ids: Any, scores: Any) -> Any:
        written = shape.written(input_ids)
        for line, limit in enumerate(limits):
            if written == limit:
                _force(scores, line, token)
        return scores

    return apply


def _sample(shape: Shape) -> Rule:
    """Draw the tokens of the sampled rows; greedy decoding then has one token to take."""
    lines = [line for line, row in enumerate(shape.rows) if row.decoding.sampled]
    chosen = [shape.rows[line] for line in lines]
    filters = Filters.of([row.decoding for row in chosen])
    numbers = [Uniforms(row.decoding.seed, row.choice) for row in chosen]
    everything = len(lines) == len(shape.rows)
    at = torch.tensor(lines, device=shape.device)

    def apply(input_ids: Any, scores: Any) -> Any:
        position = shape.written(input_ids)
        uniforms = np.array([number(position) for number in numbers])
        tokens = draw(scores if everything else scores[at], filters, uniforms)
        scores[at] = _OFF
        scores[at, torch.as_tensor(tokens, device=scores.device)] = 0.0
        return scores

    return apply
