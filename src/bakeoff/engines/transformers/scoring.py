"""Log-likelihoods of continuations, many at once."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from bakeoff.core.outputs import Likelihood, Usage
from bakeoff.engines.batch.rows import Control, ScoreRow
from bakeoff.engines.transformers.loading import Loaded


class Scorer:
    """Computes batches of log-likelihoods; on the compute thread only."""

    def __init__(self, loaded: Loaded, pad: int) -> None:
        self._loaded = loaded
        self._pad = pad
        self._encoder = bool(loaded.model.config.is_encoder_decoder)
        takes = inspect.signature(loaded.model.forward).parameters
        self._keeps = "logits_to_keep" in takes

    def run(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood]:
        """Score rows of any lengths.

        Raises:
            Cancelled, EngineClosed: the caller went away.
            RuntimeError: whatever the library raises.
        """
        if control.reason is not None:
            raise control.error()
        with torch.inference_mode():
            return self._pairs(rows) if self._encoder else self._joined(rows)

    def _joined(self, rows: Sequence[ScoreRow]) -> list[Likelihood]:
        """Rows that read the same (one-token choices of one question) are computed once.

        Padding stands on the right: what a row reads is where it is when it is alone.
        """
        inputs = {row: (*row.ids, *row.target[:-1]) for row in rows}
        places = {ids: at for at, ids in enumerate(dict.fromkeys(inputs.values()))}
        ids, mask = self._padded(list(places))
        width = ids.shape[1]
        begins = {row: len(row.ids) - 1 for row in rows}
        kept = width - min(begins.values()) if self._keeps else width
        more = {"logits_to_keep": kept} if self._keeps else {}
        logits = self._loaded.model(
            input_ids=ids, attention_mask=mask, use_cache=False, **more
        ).logits
        shift = width - int(logits.shape[1])
        return [self._row(row, logits[places[inputs[row]]], begins[row] - shift) for row in rows]

    def _pairs(self, rows: Sequence[ScoreRow]) -> list[Likelihood]:
        ids, mask = self._padded([row.ids for row in rows])
        decoder, decoder_mask = self._padded([(*row.begin, *row.target[:-1]) for row in rows])
        logits = self._loaded.model(
            input_ids=ids,
            attention_mask=mask,
            decoder_input_ids=decoder,
            decoder_attention_mask=decoder_mask,
            use_cache=False,
        ).logits
        return [self._row(row, logits[at], len(row.begin) - 1) for at, row in enumerate(rows)]

    def _padded(self, lines: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        width = max(len(line) for line in lines)
        ids = [[*line, *[self._pad] * (width - len(line))] for line in lines]
        mask = [[1] * len(line) + [0] * (width - len(line)) for line in lines]
        device = self._loaded.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)

    def _row(self, row: ScoreRow, logits: Any, begin: int) -> Likelihood:
        """Read one row's numbers; `logits[begin]` predicts its first target token."""
        part = torch.log_softmax(logits[begin : begin + len(row.target)].float(), dim=-1)
        target = torch.tensor(row.target, device=part.device)[:, None]
        return Likelihood(
            id=row.id,
            token_ids=row.target,
            logprobs=tuple(part.gather(1, target)[:, 0].tolist()),
            best=tuple(part.argmax(dim=-1).tolist()),
            usage=Usage(prompt=len(row.ids), cut=row.cut, completion=len(row.target)),
        )
