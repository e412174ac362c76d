"""Log-probabilities of generated tokens, as the model gave them before any rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from bakeoff.core.outputs import TokenLogprob
from bakeoff.engines.batch.rows import Row


class Recorder:
    """Two rules around all others: the first sees the raw logits, the last the token taken."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._lines = [line for line, row in enumerate(rows) if row.logprobs is not None]
        self._most = max(rows[line].logprobs or 0 for line in self._lines)
        self._raw: Any = None
        self._steps: list[tuple[list[float], list[list[float]], list[list[int]]]] = []

    def before(self, input_ids: Any, scores: Any) -> Any:
        """Remember the logits of the rows that asked."""
        self._raw = torch.log_softmax(scores[self._lines].float(), dim=-1)
        return scores

    def after(self, input_ids: Any, scores: Any) -> Any:
        """Record what is about to be taken."""
        taken = scores[self._lines].argmax(dim=-1, keepdim=True)
        found = self._raw.gather(1, taken)[:, 0].tolist()
        values, ids = torch.topk(self._raw, min(self._most, self._raw.shape[-1]), dim=-1)
        self._steps.append((found, values.tolist(), ids.tolist()))
        return scores

    def of(
        self, line: int, row: Row, ids: Sequence[int], name: Callable[[int], str]
    ) -> tuple[TokenLogprob, ...]:
        """The record of one row, for its tokens `ids`; `name` gives a token's text."""
        at, most = self._lines.index(line), row.logprobs or 0
        return tuple(
            TokenLogprob(
                token,
                name(token),
                found[at],
                tuple(zip(tops[at][:most], values[at][:most], strict=True)),
            )
            for token, (found, values, tops) in zip(ids, self._steps, strict=False)
        )
