"""What a model says of a prompt while it reads it: log-probabilities of the prompt's own tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from bakeoff.core.outputs import TokenLogprob
from bakeoff.engines.steps.sequence import Seq

_NUMBERS = 2**25
"""Logits of one pass: each takes 4 bytes, and the usual pass keeps none but the last."""
_SLICE = 64
"""Tokens whose probabilities are worked out at a time."""


def room(vocabulary: int) -> int:
    """How many tokens may be read in one pass that keeps all logits."""
    return max(1, _NUMBERS // vocabulary)


def tell(seq: Seq, logits: Any, name: Callable[[int], str]) -> None:
    """Note what is said of a prompt; `logits` stand behind the tokens from `seq.read` on.

    What is known already (the row was put back) is not noted again.
    """
    prompt, told = seq.prompt, seq.record.prompt
    if not told:
        told.append(None)
    most = seq.row.prompt_logprobs or 0
    last = min(seq.read + len(logits), len(prompt) - 1)
    for first in range(max(len(told), seq.read + 1), last + 1, _SLICE):
        targets = prompt[first : min(first + _SLICE, last + 1)]
        begin = first - 1 - seq.read
        told += _of(logits[begin : begin + len(targets)], targets, most, name)


def _of(
    logits: Any, targets: Sequence[int], most: int, name: Callable[[int], str]
) -> list[TokenLogprob]:
    raw = torch.log_softmax(logits.float(), dim=-1)
    found = raw.gather(1, torch.tensor(targets, device=raw.device)[:, None])[:, 0].tolist()
    values, ids = torch.topk(raw, min(most, raw.shape[-1]), dim=-1)
    tops = zip(ids.tolist(), values.tolist(), strict=True)
    return [
        TokenLogprob(token, name(token), value, tuple(zip(*top, strict=True)))
        for token, value, top in zip(targets, found, tops, strict=True)
    ]
