"""`Worker`: owns the model; everything here runs on the compute thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import torch
import transformers

from bakeoff.core.errors import EngineFailed
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, Timing
from bakeoff.core.requests import PredictRequest, ScoreRequest
from bakeoff.engines.batch.rows import Arrived, Control, PredictRow, Row, ScoreRow
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.text import streaming
from bakeoff.engines.text.languages import Languages
from bakeoff.engines.text.questions import TokenDesk
from bakeoff.engines.text.reading import Reading
from bakeoff.engines.text.writing import Writer
from bakeoff.engines.transformers import encoder, memory
from bakeoff.engines.transformers.generation import Generator, neutral_generation_config
from bakeoff.engines.transformers.loading import Loaded, load_model
from bakeoff.engines.transformers.scoring import Scorer
from bakeoff.engines.transformers.stepping.building import Stepper, stepper


class Worker:
    """A loaded model and all that is done with it.

    Attributes:
        loaded: the model and its tokenizer.
        version: of the library.
        languages: that the tokenizer knows.
        careful: plans and runs batches; `scoring` is the same.
        parts: what makes rows of requests; None for an encoder.
        tokens: answers about the tokenizer.
        stepper: drives the model step by step; None where only `generate` can.
        notices: what the report should say.
    """

    def __init__(self, facts: ModelFacts, options: EngineOptions) -> None:
        """Load the model; blocks.

        Raises:
            ModelError: the model cannot be loaded.
        """
        if options.threads:
            torch.set_num_threads(options.threads)
        self.loaded = load_model(facts, options)
        self.version = str(transformers.__version__)
        self.languages = Languages.of(self.loaded.tokenizer)
        self.careful = self.scoring = memory.careful(self.loaded, options)
        encodes_only = facts.capabilities.kind == "encoder"
        self.parts = None if encodes_only else _reading(facts, self.loaded, options)
        self._writer: Writer | None = None
        self.stepper: Stepper | None = None
        if self.parts is not None:
            generator = Generator(self.loaded, self.parts.special)
            self._writer = self._writing(self.parts, generator)
            self.stepper = stepper(self.loaded, self._writer, generator, options)
        self.tokens = TokenDesk(
            self.loaded.tokenizer,
            _vocabulary(self.loaded),
            self.parts.reader if self.parts else None,
        )
        self.notices = (*self.loaded.notices, *(self.parts.notices if self.parts else ()))

    def _writing(self, parts: Reading, generator: Generator) -> Writer:
        return Writer(
            careful=self.careful,
            scoring=self.scoring,
            reading=parts,
            generator=generator,
            scorer=Scorer(self.loaded, parts.special.pad),
        )

    @property
    def writer(self) -> Writer:
        """What a generative model does.

        Raises:
            EngineFailed: the model is an encoder; `unsupported` says so before.
        """
        if self._writer is None:
            raise EngineFailed("the model is an encoder: it writes nothing")
        return self._writer

    def rows(self, arrived: Sequence[Arrived]) -> tuple[list[Row], list[Failure]]:
        """See `Writer.rows`."""
        return self.writer.rows(arrived)

    def score_rows(self, requests: Sequence[ScoreRequest]) -> tuple[list[ScoreRow], list[Failure]]:
        """See `Writer.score_rows`."""
        return self.writer.score_rows(requests)

    def complete(self, rows: Sequence[Row], control: Control) -> list[Completion | Failure]:
        """See `Writer.complete`."""
        return self.writer.complete(rows, control)

    def score(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood | Failure]:
        """See `Writer.score`."""
        return self.writer.score(rows, control)

    def stream(self, arrived: Arrived, control: Control, push: streaming.Push) -> None:
        """See `Writer.stream`."""
        self.writer.stream(arrived, control, push)

    def predict(self, rows: Sequence[PredictRow], control: Control) -> list[Prediction | Failure]:
        """An encoder's answers to a batch."""
        if control.reason is not None:
            return [Failure.of(row.id, control.error()) for row in rows]
        began = time.perf_counter()
        requests = [row.request for row in rows]
        made = encoder.predict_batch(self.loaded, self.careful, requests)
        return [
            replace(one, timing=_timing(row, began)) for row, one in zip(rows, made, strict=True)
        ]

    def encode(self, text: str) -> list[int]:
        """Ids of a text, special tokens included."""
        ids: list[int] = self.loaded.tokenizer(text, verbose=False)["input_ids"]
        return self.parts.reader.encode(text) if self.parts else ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens left out."""
        return str(self.loaded.tokenizer.decode(list(ids), skip_special_tokens=True))

    def close(self) -> None:
        """Give back what lies outside memory; the model goes with the last reference to it."""
        self.loaded.held.close()

    def unsupported(self, request: PredictRequest) -> list[str]:
        """What an encoder cannot honour; reads no tensor, so any thread may ask."""
        return encoder.unsupported(self.loaded, request)


def _reading(facts: ModelFacts, loaded: Loaded, options: EngineOptions) -> Reading:
    model, tokenizer = loaded.model, loaded.tokenizer
    size, loops = _vocabulary(loaded), options.stop_loops
    found = Reading.of(facts, model.config, model.generation_config, tokenizer, size, loops)
    model.generation_config = neutral_generation_config(model)
    return found


def _vocabulary(loaded: Loaded) -> int:
    return int(loaded.model.get_input_embeddings().weight.shape[0])


def _timing(row: PredictRow, began: float) -> Timing:
    return Timing(queued=began - row.at, done=time.perf_counter() - row.at)
