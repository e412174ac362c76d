"""`Worker`: owns the model; everything here runs on the compute thread."""

from __future__ import annotations

from collections.abc import Sequence

import ctranslate2

from bakeoff.core.errors import EngineFailed
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction
from bakeoff.core.requests import ScoreRequest
from bakeoff.engines.batch.rows import Arrived, Control, PredictRow, Row, ScoreRow
from bakeoff.engines.ctranslate2.converted import Kept
from bakeoff.engines.ctranslate2.generation import Generator
from bakeoff.engines.ctranslate2.loading import load_converted
from bakeoff.engines.ctranslate2.memory import score_batches, text_batches
from bakeoff.engines.ctranslate2.scoring import Scorer
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.text import streaming
from bakeoff.engines.text.languages import Languages
from bakeoff.engines.text.questions import TokenDesk
from bakeoff.engines.text.reading import Reading
from bakeoff.engines.text.writing import Writer


class Worker:
    """A loaded model and all that is done with it.

    Attributes:
        loaded: the model and its tokenizer.
        version: of the library.
        languages: that the tokenizer knows.
        careful: plans and runs batches of texts.
        scoring: plans and runs batches of continuations.
        parts: what makes rows of requests.
        tokens: answers about the tokenizer.
        notices: what the report should say.
    """

    def __init__(self, facts: ModelFacts, options: EngineOptions) -> None:
        """Load the model; blocks.

        Raises:
            ModelError: the model cannot be converted or loaded.
        """
        self.loaded = load_converted(facts, options)
        self.version = str(ctranslate2.__version__)
        self.languages = Languages.of(self.loaded.tokenizer)
        self.careful = text_batches(self.loaded, options)
        self.scoring = score_batches(self.loaded, options)
        kept = self.loaded.kept
        self.parts = Reading.of(
            facts,
            self.loaded.config,
            _Said(kept),
            self.loaded.tokenizer,
            kept.size,
            options.stop_loops,
        )
        self._writer = Writer(
            careful=self.careful,
            scoring=self.scoring,
            reading=self.parts,
            generator=Generator(self.loaded, self.parts.special),
            scorer=Scorer(self.loaded),
        )
        self.tokens = TokenDesk(self.loaded.tokenizer, kept.size, self.parts.reader)
        self.notices = (*self.loaded.notices, *self.parts.notices)

    def rows(self, arrived: Sequence[Arrived]) -> tuple[list[Row], list[Failure]]:
        """See `Writer.rows`."""
        return self._writer.rows(arrived)

    def score_rows(self, requests: Sequence[ScoreRequest]) -> tuple[list[ScoreRow], list[Failure]]:
        """See `Writer.score_rows`."""
        return self._writer.score_rows(requests)

    def complete(self, rows: Sequence[Row], control: Control) -> list[Completion | Failure]:
        """See `Writer.complete`."""
        return self._writer.complete(rows, control)

    def score(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood | Failure]:
        """See `Writer.score`."""
        return self._writer.score(rows, control)

    def stream(self, arrived: Arrived, control: Control, push: streaming.Push) -> None:
        """See `Writer.stream`."""
        self._writer.stream(arrived, control, push)

    def predict(self, rows: Sequence[PredictRow], control: Control) -> list[Prediction | Failure]:
        """Not what a model that writes text does; `unsupported` says so before."""
        error = EngineFailed("the model writes text and answers no such question")
        return [Failure.of(row.id, error) for row in rows]

    def encode(self, text: str) -> list[int]:
        """Ids of a text, special tokens included."""
        return self.parts.reader.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens left out."""
        return str(self.loaded.tokenizer.decode(list(ids), skip_special_tokens=True))

    def close(self) -> None:
        """Free the model."""
        self.loaded.close()


class _Said:
    """The kept generation configuration, read by attribute as the library's own."""

    def __init__(self, kept: Kept) -> None:
        for name, value in kept.said.items():
            setattr(self, name, value)
