"""`Worker`: owns tokenizer and process; everything here runs on the compute thread."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bakeoff.core.errors import EngineFailed, ModelLoadFailed
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, TokenChunk
from bakeoff.core.requests import ScoreRequest
from bakeoff.engines.batch.careful import Careful, Memory
from bakeoff.engines.batch.plan import Limits
from bakeoff.engines.batch.rows import Arrived, Control, PredictRow, Row, ScoreRow
from bakeoff.engines.machine import memory_ran_out
from bakeoff.engines.openvino.loading import Loaded, load_exported
from bakeoff.engines.openvino.relay import Parts, Relay
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.steps.sequence import Seq, Sink
from bakeoff.engines.text import streaming
from bakeoff.engines.text.finishing import Made
from bakeoff.engines.text.following import OnTokens
from bakeoff.engines.text.languages import Languages
from bakeoff.engines.text.questions import TokenDesk
from bakeoff.engines.text.reading import Reading
from bakeoff.engines.text.recording import Record, Shows
from bakeoff.engines.text.writing import Writer


class Worker:
    """A model in its process and all that is done with it.

    Attributes:
        loaded: the model and its tokenizer.
        version: of the library.
        languages: that the tokenizer knows.
        careful: plans batches of texts; `scoring` is the same.
        parts: what makes rows of requests.
        relay: brings rows to the process, and their tokens back.
        tokens: answers about the tokenizer.
        notices: what the report should say.
    """

    def __init__(self, facts: ModelFacts, options: EngineOptions) -> None:
        """Load the model; blocks.

        Raises:
            ModelError: the model cannot be exported or loaded.
        """
        self.loaded = load_exported(facts, options)
        try:
            self._put_together(facts, options)
        except BaseException:
            self.loaded.process.close()
            raise

    def _put_together(self, facts: ModelFacts, options: EngineOptions) -> None:
        self.version = importlib.metadata.version("openvino")
        tokenizer, kept = self.loaded.tokenizer, self.loaded.kept
        self.languages = Languages.of(tokenizer)
        self.parts = Reading.of(
            facts, self.loaded.config, _Said(kept.said), tokenizer, kept.size, options.stop_loops
        )
        if self.parts.special.last is not None:
            raise ModelLoadFailed(
                f"{facts.ref.uri} forces the last token of a text (forced_eos_token_id), which "
                "the openvino engine does not: leave `engine: auto`"
            )
        self.careful = self.scoring = _careful(self.loaded)
        parts = Parts(self.loaded.again, self.loaded.pace, self._text)
        self.relay = Relay(parts, self.loaded.process)
        self._writer = Writer(
            careful=self.careful,
            scoring=self.scoring,
            reading=self.parts,
            generator=_Batch(self.relay, self._text),
            scorer=_NoScores(),
        )
        self.tokens = TokenDesk(tokenizer, kept.size, self.parts.reader)
        self.notices = (*self.loaded.notices, *self.parts.notices)

    def read(self, arrived: Arrived) -> list[Row]:
        """See `Writes.read`."""
        return self._writer.read(arrived)

    def telling(self, row: Row, push: Callable[[TokenChunk], None]) -> streaming.Telling:
        """See `Writes.telling`."""
        return self._writer.telling(row, push)

    def seq(self, row: Row, control: Control, sink: Sink) -> Seq:
        """See `Writes.seq`."""
        return Seq.of(row, control, sink, self._text)

    def rows(self, arrived: Sequence[Arrived]) -> tuple[list[Row], list[Failure]]:
        """See `Writer.rows`."""
        return self._writer.rows(arrived)

    def score_rows(self, requests: Sequence[ScoreRequest]) -> tuple[list[ScoreRow], list[Failure]]:
        """See `Writer.score_rows`."""
        return self._writer.score_rows(requests)

    def complete(self, rows: Sequence[Row], control: Control) -> list[Completion | Failure]:
        """See `Writer.complete`; nothing else may be in the process."""
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
        return self._text(ids)

    def close(self) -> None:
        """End the process."""
        self.relay.close()

    def _text(self, ids: Sequence[int]) -> str:
        return str(self.loaded.tokenizer.decode(list(ids), skip_special_tokens=True))


@dataclass(frozen=True)
class _Batch:
    """Rows that go to the process together, and are waited for; a `Generates`."""

    relay: Relay
    decode: Callable[[Sequence[int]], str]

    def run(
        self, rows: Sequence[Row], control: Control, show: OnTokens | None = None
    ) -> list[list[Made]]:
        """See `Generates.run`."""
        if control.reason is not None:
            raise control.error()
        sinks = [_Kept(show and _Shown(show)) for _ in rows]
        for row, sink in zip(rows, sinks, strict=True):
            self.relay.add(Seq.of(row, control, sink, self.decode))
        while len(self.relay):
            self.relay.turn()
        return [sink.made for sink in sinks]


@dataclass(frozen=True)
class _Shown:
    """Shows tokens to one who wants no log-probabilities; a `Shows`."""

    show: OnTokens

    def __call__(self, ids: Sequence[int], record: Record | None = None, /) -> None:
        """See `Shows`."""
        self.show(ids)


class _Kept:
    """Keeps a text; a `Sink`."""

    def __init__(self, show: Shows | None) -> None:
        self.show = show
        self.made: list[Made] = []

    def end(self, made: Sequence[Made]) -> None:
        """See `Sink.end`."""
        self.made = list(made)


class _NoScores:
    """The library gives no likelihoods of a text; `unsupported` says so before."""

    def run(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood]:
        """See `Scores.run`."""
        raise EngineFailed("the openvino engine scores no continuations")


class _Said:
    """The kept generation configuration, read by attribute as the library's own."""

    def __init__(self, said: dict[str, object]) -> None:
        for name, value in said.items():
            setattr(self, name, value)


def _careful(loaded: Loaded) -> Careful:
    limits = Limits(loaded.pace.rows, loaded.pace.tokens)
    return Careful(limits, Memory(lambda error: memory_ran_out(error, ()), lambda: None))
