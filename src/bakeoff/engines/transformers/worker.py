"""`Worker`: owns the model; everything here runs on the compute thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
import transformers

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import BakeoffError, EngineFailed, OutOfMemory, PromptTooLong
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, TokenChunk, Usage
from bakeoff.core.ports import ModelFacts
from bakeoff.core.requests import (
    GenerateRequest,
    PredictRequest,
    Prompt,
    ScoreRequest,
    Source,
)
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers import encoder, memory
from bakeoff.engines.transformers.batching import Sized, plan
from bakeoff.engines.transformers.decoding import Decoding
from bakeoff.engines.transformers.detokenize import Pieces
from bakeoff.engines.transformers.generation import Generator
from bakeoff.engines.transformers.languages import Languages
from bakeoff.engines.transformers.loading import Loaded, load_model
from bakeoff.engines.transformers.prompts import Fitted, PromptReader, Read
from bakeoff.engines.transformers.rows import Control, Row
from bakeoff.engines.transformers.scoring import Scorer, ScoreReader, ScoreRow
from bakeoff.engines.transformers.special import Special, neutral_generation_config

R = TypeVar("R", bound=Sized)
T = TypeVar("T")
Push = Callable[[TokenChunk], None]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request and when it reached the engine, by `time.perf_counter`."""

    request: GenerateRequest
    at: float


class Worker:
    """A loaded model and all that is done with it."""

    def __init__(self, facts: ModelFacts, options: EngineOptions) -> None:
        """Load the model; blocks.

        Raises:
            ModelError: the model cannot be loaded.
        """
        if options.threads:
            torch.set_num_threads(options.threads)
        self.facts = facts
        self.loaded = load_model(facts, options)
        self.limits = memory.limits(self.loaded, options)
        self.languages = Languages.of(self.loaded.tokenizer)
        self.version = str(transformers.__version__)
        if facts.capabilities.kind != "encoder":
            self._prepare_generation()

    def _prepare_generation(self) -> None:
        model = self.loaded.model
        self.special = Special.of(self.loaded)
        model.generation_config = neutral_generation_config(model)
        vocabulary = int(model.get_input_embeddings().num_embeddings)
        self.reader = PromptReader(
            self.loaded.tokenizer, self.special, self.languages, vocabulary
        )
        self.generator = Generator(self.loaded, self.special)
        self.scorer = Scorer(self.loaded, self.special.pad)
        self.score_reader = ScoreReader(
            self.reader, self.languages, self._window(), self._encodes(), self._written()
        )

    def _window(self) -> int | None:
        return self.facts.capabilities.context_length

    def _encodes(self) -> bool:
        return self.facts.capabilities.kind == "seq2seq"

    def _written(self) -> int | None:
        """Most new tokens that the positions of a decoder allow, or None."""
        if not self._encodes():
            return None
        config = self.loaded.model.config
        for name in ("max_decoder_position_embeddings", "max_position_embeddings"):
            value = getattr(config, name, None)
            if isinstance(value, int) and value > 0:
                return value - 1
        return None

    # -- requests become rows -----------------------------------------------------------------

    def rows(self, arrived: Arrived) -> list[Row]:
        """Tokenise a request: one row, or one for each sampled choice.

        Raises:
            BakeoffError: the request cannot be answered.
        """
        request = arrived.request
        decoding = Decoding.resolve(request.params, self.facts.defaults)
        read = self.reader.read(request.prompt)
        fitted, room = self._fit(read, request, decoding)
        limit = decoding.max_new_tokens if room is None else min(decoding.max_new_tokens, room)
        start, first = self._beginning(read)
        turn = read.chat
        row = Row(
            id=request.id,
            ids=tuple(fitted.ids),
            cut=fitted.cut,
            decoding=replace(decoding, max_new_tokens=limit),
            end_ids=self.special.end.union(
                decoding.stop_ids, self.special.turn_end if turn else ()
            ),
            stops=(*decoding.stop, *(self.special.turn_stops if turn else ())),
            first=first,
            start=start,
            copies=1 if decoding.sampled or decoding.num_beams > 1 else decoding.n,
            logprobs=request.logprobs,
            arrived=arrived.at,
            deadline=None if request.deadline is None else arrived.at + request.deadline,
        )
        if not decoding.sampled:
            return [row]
        return [replace(row, choice=choice) for choice in range(decoding.n)]

    def _fit(
        self, read: Read, request: GenerateRequest, decoding: Decoding
    ) -> tuple[Fitted, int | None]:
        """The prompt as it fits, and the room for new tokens (None: no limit).

        Where a decoder-only prompt may be cut, it is cut so far that the answer has room: all
        of `max_new_tokens`, but at most half the window.
        """
        window = self._window()
        if self._encodes():
            return self.reader.fit(read, window, request.truncate, window or 0), self._written()
        if window is None:
            return Fitted(read.ids, 0), None
        keep = window - max(1, min(decoding.max_new_tokens, window // 2))
        fitted = self.reader.fit(read, window - 1, request.truncate, keep)
        return fitted, window - len(fitted.ids)

    def _beginning(self, read: Read) -> tuple[int | None, int | None]:
        """What the decoder reads first, and the token that it is forced to write first."""
        if not self._encodes():
            return None, None
        if read.language is None:
            return self.special.start, self.special.first
        if self.languages.by_start:
            return read.language, self.special.first
        return self.special.start, read.language

    # -- rows become results ------------------------------------------------------------------

    def plan(self, rows: Sequence[R]) -> list[list[R]]:
        """Batches that fit the memory."""
        return plan(rows, self.limits)

    def complete(self, rows: Sequence[Row], control: Control) -> list[Completion | Failure]:
        """Generate a batch; a row that fails costs only itself."""
        ready, done = [], []
        for row in rows:
            if control.stopped(row.id):
                done.append(_stopped(row, control))
            elif row.max_new == 0:
                done.append(_nothing(row))
            else:
                ready.append(row)
        if ready:
            made = self._careful(ready, lambda part: self.generator.run(part, control))
            for row, texts in zip(ready, made, strict=True):
                found = [texts] if isinstance(texts, BakeoffError) else texts
                done += [
                    Failure.of(row.id, one) if isinstance(one, BakeoffError) else one
                    for one in found
                ]
        return [_unless_closed(one, control) for one in done]

    def score(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood | Failure]:
        """Score a batch; a row that fails costs only itself."""
        made = self._careful(rows, lambda part: self.scorer.run(part, control))
        return [
            Failure.of(row.id, one) if isinstance(one, BakeoffError) else one
            for row, one in zip(rows, made, strict=True)
        ]

    def predict(
        self, requests: Sequence[PredictRequest], control: Control
    ) -> list[Prediction | Failure]:
        """An encoder's answers to a batch."""
        if control.reason is not None:
            return [Failure.of(request.id, control.error()) for request in requests]
        try:
            return encoder.predict_batch(self.loaded, requests)
        except Exception as error:  # the rows are tried alone, and the guilty one reports it
            if len(requests) == 1:
                return [Failure.of(requests[0].id, _translated(error))]
        memory.release(self.loaded.device)
        half = len(requests) // 2 if half_helps(requests) else 1
        return self.predict(requests[:half], control) + self.predict(requests[half:], control)

    def _careful(
        self, rows: Sequence[R], run: Callable[[Sequence[R]], list[T]]
    ) -> list[T | BakeoffError]:
        """Run a batch; halve it when memory runs out, take it apart when something else fails."""
        if not self.limits.fits(rows):  # planned before memory ran out elsewhere
            return self._halves(rows, run)
        try:
            return list(run(rows))
        except BakeoffError as error:
            return [error] * len(rows)
        except Exception as error:  # whatever a library raises becomes a failure of one row
            if len(rows) == 1:
                return [_translated(error)]
            memory_ran_out = memory.out_of_memory(error)
        memory.release(self.loaded.device)  # outside the handler: the traceback holds tensors
        if memory_ran_out:
            self.limits = self.limits.halved(rows)
            return self._halves(rows, run)
        return [one for row in rows for one in self._careful([row], run)]

    def _halves(
        self, rows: Sequence[R], run: Callable[[Sequence[R]], list[T]]
    ) -> list[T | BakeoffError]:
        half = len(rows) // 2
        return self._careful(rows[:half], run) + self._careful(rows[half:], run)

    def stream(self, arrived: Arrived, control: Control, push: Push) -> None:
        """Generate a request alone and push its text piece by piece, choice after choice.

        Raises:
            BakeoffError: the request fails.
        """
        for row in self.rows(arrived):
            pieces = Pieces(
                self.generator.decode,
                row.stops,
                self.special.byte_ids.__contains__,
                cleans=bool(getattr(self.loaded.tokenizer, "clean_up_tokenization_spaces", False)),
            )
            told = 0

            def show(ids: Sequence[int], row: Row = row, pieces: Pieces = pieces) -> None:
                nonlocal told
                text = pieces.more(ids)
                if text:
                    push(TokenChunk(row.id, text, tuple(ids[told:]), choice=row.choice))
                    told = len(ids)

            follow = show if row.lanes == 1 else None
            for made in self._alone(row, control, follow):
                rest = pieces.rest(made.text) if row.lanes == 1 else made.text
                push(
                    TokenChunk(
                        made.id, rest, made.token_ids[told:], made.finish, made.usage, made.choice
                    )
                )
                pieces, told = Pieces(self.generator.decode, row.stops), 0
