"""One batch of rows becomes texts, by the library's `generate`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from bakeoff.engines.batch.rows import Control, Row
from bakeoff.engines.text.finishing import Finisher, Made, Written
from bakeoff.engines.text.following import OnTokens
from bakeoff.engines.text.special import Special
from bakeoff.engines.transformers import rules
from bakeoff.engines.transformers.loading import Loaded
from bakeoff.engines.transformers.logprobs import Recorder
from bakeoff.engines.transformers.quiet import unreminded
from bakeoff.engines.transformers.watch import Watch


def neutral_generation_config(model: Any) -> Any:
    """The model's generation config without the tokens that each call gives itself.

    What a call does not say, the library takes from the model: nothing may be left there that a
    request could want otherwise.
    """
    config = GenerationConfig.from_dict(model.generation_config.to_dict())
    config.forced_bos_token_id = None
    config.forced_eos_token_id = None
    config.max_new_tokens = config.max_length = None
    return config


@dataclass(frozen=True)
class _Inputs:
    """The tensors of a batch, and where the new tokens will begin."""

    ids: Any
    mask: Any
    shape: rules.Shape


@dataclass(frozen=True)
class Generator:
    """Runs batches on one model; on the compute thread only."""

    loaded: Loaded
    special: Special

    def run(
        self, rows: Sequence[Row], control: Control, show: OnTokens | None = None
    ) -> list[list[Made]]:
        """Generate the texts of a batch whose rows share a `group`.

        Args:
            rows: at least one.
            control: stops rows within one step.
            show: for a batch of one row: takes all tokens so far after each step.

        Returns:
            For each row its texts (several where it stands for several choices).

        Raises:
            RuntimeError: whatever the library raises; no row has a result then.
        """
        began = time.perf_counter()
        inputs = self._inputs(rows)
        watch = Watch(rows, inputs.shape.width, control, self.decode)
        watch.follow(self.special.end, show)
        recorder = Recorder(rows) if any(row.logprobs is not None for row in rows) else None
        with torch.inference_mode(), unreminded():
            out = self.loaded.model.generate(
                input_ids=inputs.ids,
                attention_mask=inputs.mask,
                generation_config=self._config(rows),
                logits_processor=self._processors(inputs.shape, recorder),
                stopping_criteria=StoppingCriteriaList([watch]),
            )
        lines = out[:, inputs.shape.width :].tolist()
        finisher = Finisher(self.decode, self.special.last, began, len(rows))
        made = _Gatherer(finisher, watch, recorder, self.name)
        return [made.row(line, row, self._mine(lines, rows, line)) for line, row in enumerate(rows)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, without special tokens."""
        return str(self.loaded.tokenizer.decode(list(ids), skip_special_tokens=True))

    def name(self, token: int) -> str:
        """The text of one token, special or not."""
        return str(self.loaded.tokenizer.decode([token]))

    @staticmethod
    def _mine(lines: list[list[int]], rows: Sequence[Row], line: int) -> list[list[int]]:
        """The lines of the output that belong to a row: beams return its n best."""
        each = len(lines) // len(rows)
        return lines[line * each : line * each + each]

    def _inputs(self, rows: Sequence[Row]) -> _Inputs:
        """Pad: on the left before an answer is written behind, on the right for an encoder."""
        encoder = bool(self.loaded.model.config.is_encoder_decoder)
        width = max(row.length for row in rows)
        ids, mask, prompt = [], [], []
        for row in rows:
            pad = width - row.length
            fill, real = [self.special.pad] * pad, list(row.ids)
            off, on = [0] * pad, [1] * row.length
            ids.append(real + fill if encoder else fill + real)
            mask.append(on + off if encoder else off + on)
            begin = [row.start or 0] if encoder else [real[0]] * pad + real
            prompt += [begin] * row.lanes
        device = self.loaded.device
        shape = rules.Shape(
            rows=rows,
            width=1 if encoder else width,
            pads=[0 if encoder else width - row.length for row in rows],
            prompt=torch.tensor(prompt, device=device),
            device=device,
        )
        return _Inputs(torch.tensor(ids, device=device), torch.tensor(mask, device=device), shape)

    def _config(self, rows: Sequence[Row]) -> Any:
        """Only what the library itself must know; every other setting is a rule of ours."""
        one = rows[0].decoding
        beams = {
            "num_beams": one.num_beams,
            "num_return_sequences": one.n,
            "early_stopping": one.early_stopping,
            "length_penalty": one.length_penalty,
        }
        return GenerationConfig(
            max_new_tokens=max(row.max_new for row in rows),
            do_sample=False,
            use_cache=True,
            eos_token_id=sorted(self.special.end) or None,
            pad_token_id=self.special.pad,
            bos_token_id=self.special.bos,
            decoder_start_token_id=rows[0].start,
            return_dict_in_generate=False,
            **(beams if one.num_beams > 1 else {"num_beams": 1}),
        )

    def _processors(self, shape: rules.Shape, recorder: Recorder | None) -> Any:
        found = rules.build(shape, self.special.last)
        if recorder is not None:
            found = [recorder.before, *found, recorder.after]
        return LogitsProcessorList([rules.Rules(found)] if found else [])


@dataclass(frozen=True)
class _Gatherer:
    """Takes the texts of rows out of the tensors of a batch."""

    finisher: Finisher
    watch: Watch
    recorder: Recorder | None
    name: Callable[[int], str]

    def row(self, line: int, row: Row, lines: Sequence[list[int]]) -> list[Made]:
        """The texts of one row."""
        if row.lanes > 1:
            return self.finisher.best(row, [self._written(line, row, ids) for ids in lines])
        return self.finisher.copies(row, self._written(line, row, lines[0]))

    def _written(self, line: int, row: Row, ids: list[int]) -> Written:
        ids = self.watch.cut(line, ids)
        recorded = None
        if self.recorder is not None and row.logprobs is not None:
            recorded = self.recorder.of(line, row, ids, self.name)
        return Written(
            ids=ids,
            first_token=self.watch.first_token,
            cancelled=line in self.watch.cancelled,
            late=line in self.watch.late,
            logprobs=recorded,
        )
