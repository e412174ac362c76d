"""Whether an export computes what its model computes, on a few made-up prompts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bakeoff.core.errors import EngineLost, ModelLoadFailed
from bakeoff.engines.openvino.process import Limits, Process

_LENGTHS = (2, 3, 5, 9, 17, 33, 48)
"""Of the prompts, which are parts of one text: a fault in positions or masks shows in some."""
_APART = 5e-3
"""How far log-probabilities may be apart: rounding of deep models stays far below."""
_CERTAIN = 1e-2
"""Where the two best are further apart than this, they must not change places."""


@dataclass(frozen=True)
class Probe:
    """Prompts, and what the model says comes next.

    Attributes:
        ids: the longest prompt.
        best: the likeliest token behind each.
        logprobs: its log-probability.
        gaps: how far it is ahead.
    """

    ids: tuple[int, ...]
    best: tuple[int, ...]
    logprobs: tuple[float, ...]
    gaps: tuple[float, ...]

    @classmethod
    def of(cls, model: Any) -> Probe:
        """Ask the model itself."""
        size = int(model.get_input_embeddings().num_embeddings)
        draw = np.random.default_rng(0)
        ids = draw.integers(3, max(4, size * 9 // 10), max(_LENGTHS)).tolist()
        logits = model(torch.tensor([ids])).logits[0, [length - 1 for length in _LENGTHS]]
        found = torch.topk(torch.log_softmax(logits.float(), dim=-1), 2)
        two = found.values.tolist()
        best = tuple(found.indices[:, 0].tolist())
        return cls(tuple(ids), best, tuple(x for x, _ in two), tuple(x - y for x, y in two))

    def compare(self, model: Path) -> None:
        """Ask the export the same.

        Raises:
            ModelLoadFailed: its numbers are others, or it cannot be loaded.
        """
        try:
            tokens, logprobs = self._asked(model)
        except EngineLost as error:
            raise ModelLoadFailed(error.message) from error
        apart = float(np.abs(np.subtract(logprobs, self.logprobs)).max())
        same = all(
            token == best or gap < _CERTAIN
            for token, best, gap in zip(tokens, self.best, self.gaps, strict=True)
        )
        if not (same and apart <= _APART):  # so that NaN is caught as well
            raise ModelLoadFailed(
                "its export for openvino gives other log-probabilities than the model itself "
                f"(by {apart:.2g}, allowed {_APART:g}): write `engine: transformers`"
            )

    def _asked(self, model: Path) -> tuple[list[int], list[float]]:
        process = Process(model, Limits(threads=1, rows=len(_LENGTHS), batch=256))
        try:
            settings = {"max_new": 1, "logprobs": 1}
            asked = [(at, self.ids[:length], settings) for at, length in enumerate(_LENGTHS)]
            process.send({"add": asked})
            found: dict[int, tuple[int, float]] = {}
            while len(found) < len(_LENGTHS):
                for number, ids, logprobs, _ in process.receive().get("new", ()):
                    found[number] = (ids[0], logprobs[0])
        finally:
            process.close()
        both = [found[at] for at in range(len(_LENGTHS))]
        return [token for token, _ in both], [logprob for _, logprob in both]
