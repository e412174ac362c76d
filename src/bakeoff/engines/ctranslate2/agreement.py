"""Whether a conversion computes what its model computes, on a few made-up tokens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import torch

from bakeoff.core.errors import ModelLoadFailed

_READ, _WRITTEN = 24, 8
"""Tokens that the encoder reads, and that a decoder is given."""
_APART = 5e-3
"""How far log-probabilities may be apart in float32: rounding of deep models stays far below, a
layer that is converted wrongly far above."""
_APART_REDUCED = 1.0
"""The same, on average, where the weights are stored in fewer bits."""


@dataclass(frozen=True)
class Probe:
    """Tokens, and the log-probabilities that the model gives to some of them.

    Attributes:
        read: what the encoder reads; empty for a decoder-only model.
        start: what the decoder reads first (encoder-decoder), or None.
        written: what the decoder is given.
        logprobs: of each of these after those before it; decoder-only: from the second on.
    """

    read: tuple[int, ...]
    start: int | None
    written: tuple[int, ...]
    logprobs: tuple[float, ...]

    @classmethod
    def of(cls, model: Any) -> Probe:
        """Ask the model itself."""
        size = int(model.get_input_embeddings().num_embeddings)
        draw = np.random.default_rng(0)
        ids = draw.integers(3, max(4, size * 9 // 10), _READ + _WRITTEN).tolist()
        if not model.config.is_encoder_decoder:
            logits = model(torch.tensor([ids])).logits[0, :-1]
            return cls((), None, tuple(ids), _of(logits, ids[1:]))
        read, written = ids[:_READ], ids[_READ:]
        start = model.generation_config.decoder_start_token_id
        if start is None:
            start = model.config.decoder_start_token_id or model.config.bos_token_id or 0
        begin = torch.tensor([[start, *written[:-1]]])
        logits = model(torch.tensor([read]), decoder_input_ids=begin).logits[0]
        return cls(tuple(read), int(start), tuple(written), _of(logits, written))

    def compare(self, folder: Path, arithmetic: str, starts_with: int | None) -> None:
        """Ask the conversion the same.

        Raises:
            ModelLoadFailed: its numbers are others.
        """
        if self.read:
            found = self._translator(folder, arithmetic, starts_with)
        else:
            found = self._generator(folder, arithmetic)
        apart = np.abs(np.subtract(found, self.logprobs))
        exact = arithmetic == "float32"
        worst, most = (apart.max(), _APART) if exact else (apart.mean(), _APART_REDUCED)
        if not worst <= most:  # so that NaN is caught as well
            raise ModelLoadFailed(
                "its conversion for ctranslate2 gives other log-probabilities than the model "
                f"itself (by {worst:.2g}, allowed {most:g}): write `engine: transformers`"
            )

    def _translator(self, folder: Path, arithmetic: str, starts_with: int | None) -> list[float]:
        runner = ctranslate2.Translator(str(folder), compute_type=arithmetic, intra_threads=1)
        start = self.start if starts_with is None else starts_with
        target = [str(token) for token in (start, *self.written)]
        scored = runner.score_batch([[str(token) for token in self.read]], [target])
        return [float(one) for one in scored[0].log_probs[: len(self.written)]]

    def _generator(self, folder: Path, arithmetic: str) -> list[float]:
        runner = ctranslate2.Generator(str(folder), compute_type=arithmetic, intra_threads=1)
        found = np.array(runner.forward_batch([list(self.written)], return_log_probs=True))[0]
        return [float(found[at, token]) for at, token in enumerate(self.written[1:])]


def _of(logits: Any, ids: list[int]) -> tuple[float, ...]:
    logs = torch.log_softmax(logits.float(), dim=-1)
    return tuple(logs.gather(1, torch.tensor(ids)[:, None])[:, 0].tolist())
