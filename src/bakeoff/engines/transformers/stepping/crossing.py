"""`CrossingSteps`: an encoder-decoder model, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from bakeoff.engines.families import Positions
from bakeoff.engines.steps.port import Step
from bakeoff.engines.steps.sequence import Seq
from bakeoff.engines.transformers.stepping.causal import ALIKE, Calls
from bakeoff.engines.transformers.stepping.columns import Columns, give_up


@dataclass(eq=False)
class CrossingSteps:
    """Drives one model; a `StepModel`.

    Attributes:
        model: encoder-decoder, in evaluation mode.
        device: where its input goes.
        pad: a token that stands where nothing is.
        positions: gives each row its own position.
        forwarded: tokens that went through encoder and decoder so far.
    """

    model: Any
    device: str
    pad: int
    positions: Positions
    forwarded: int = 0
    _calls: Calls = field(init=False)
    _own: Columns = field(init=False)
    _source: Columns = field(init=False)
    _lines: list[Seq] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._calls = Calls.of(self.model)
        self._own, self._source = Columns(self.device), Columns(self.device)

    def prefill(self, seqs: Sequence[Seq], budget: int) -> Step:
        """See `StepModel.prefill`; an encoder's input is read whole."""
        group = self._alike(seqs, budget)
        with torch.inference_mode():
            return Step(group, self._read(group))

    @staticmethod
    def _alike(waiting: Sequence[Seq], budget: int) -> list[Seq]:
        """The first, and others that can be read in one pass with it."""
        group = [waiting[0]]
        for seq in waiting[1:]:
            lengths = [one.row.length for one in (*group, seq)]
            padded = len(lengths) * max(lengths)
            again = seq.ids or group[0].ids or seq.alone
            if again or padded > budget or sum(lengths) < ALIKE * padded:
                break
            group.append(seq)
        return group

    def _read(self, group: list[Seq]) -> Any:
        """Encode a group and let the decoder read what each begins with; all join the batch."""
        source, mask = self._sources(group)
        count = len(group[0].reading)
        own, kept = Columns(self.device), Columns(self.device)
        own.open(len(group))
        kept.open(len(group))
        encoded = self.model.get_encoder()(input_ids=source, attention_mask=mask, return_dict=True)
        kept.ready([source.shape[1]] * len(group))
        logits = self._forward([list(seq.reading) for seq in group], encoded[0], mask, (own, kept))
        kept.passed([source.shape[1]] * len(group))
        self.forwarded += sum(seq.row.length for seq in group) + count * len(group)
        for line, seq in enumerate(group):
            seq.read += seq.unread
            self._own.join(own, line)
            kept.lengths[line] = seq.row.length
            self._source.join(kept, line, left=True)
            self._lines.append(seq)
        return logits

    def _sources(self, group: Sequence[Seq]) -> tuple[Any, Any]:
        """The encoder's input and mask, padded on the right: its positions count from the left."""
        most = max(seq.row.length for seq in group)
        ids, mask = [], []
        for seq in group:
            pads = most - seq.row.length
            ids.append(list(seq.row.ids) + [self.pad] * pads)
            mask.append([1] * seq.row.length + [0] * pads)
        return torch.tensor(ids, device=self.device), torch.tensor(mask, device=self.device)

    def decode(self, seqs: Sequence[Seq]) -> Step:
        """See `StepModel.decode`."""
        source = self._source
        mask = source.mask[: source.lines, source.begin : source.end]
        # of what was encoded only the shape matters: its keys and values are in the cache
        encoded = torch.zeros(1, 1, 1, dtype=self.model.dtype, device=self.device)
        encoded = encoded.expand(*mask.shape, self.model.config.d_model)
        source.show()
        with torch.inference_mode():
            ids = [[seq.ids[-1]] for seq in self._lines]
            logits = self._forward(ids, encoded, mask, (self._own, source))
        self.forwarded += len(ids)
        return Step(tuple(self._lines), logits)

    def _forward(
        self, ids: list[list[int]], encoded: Any, mask: Any, kept: tuple[Columns, Columns]
    ) -> Any:
        own, source = kept
        counts = [len(ids[0])] * len(ids)
        own_mask = own.ready(counts)
        first = torch.tensor(own.lengths, device=self.device)
        self.positions.set(first[:, None] + torch.arange(counts[0], device=self.device))
        try:
            out = self.model(
                encoder_outputs=BaseModelOutput(last_hidden_state=encoded),
                attention_mask=mask,
                decoder_input_ids=torch.tensor(ids, device=self.device),
                decoder_attention_mask=own_mask,
                use_cache=True,
                return_dict=True,
                **{self._calls.cache: EncoderDecoderCache(own.cache, source.cache)},
            )
        finally:
            self.positions.set(None)
        own.passed(counts)
        return out.logits[:, -1].to(copy=True, dtype=torch.float32)

    def release(self, seq: Seq) -> None:
        """See `StepModel.release`."""
        if seq in self._lines:
            line = self._lines.index(seq)
            with torch.inference_mode():
                self._own.leave(line)
                self._source.leave(line)
            give_up(self._lines, line)
