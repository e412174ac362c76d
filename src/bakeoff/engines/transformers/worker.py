"""`Worker`: owns the model; everything here runs on the compute thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import transformers

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import BakeoffError, DeadlineExceeded, EngineFailed
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, Timing, Usage
from bakeoff.core.ports import ModelFacts
from bakeoff.core.requests import PredictRequest, ScoreRequest
from bakeoff.core.rows import Notice
from bakeoff.engines.batch.careful import unreadable
from bakeoff.engines.batch.rows import Arrived, Control, PredictRow, Row, ScoreRow
from bakeoff.engines.dated import on_its_day
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.text import streaming
from bakeoff.engines.text.continuations import ScoreReader
from bakeoff.engines.text.intake import Intake
from bakeoff.engines.text.languages import Languages
from bakeoff.engines.text.prompts import PromptReader
from bakeoff.engines.text.special import Special
from bakeoff.engines.transformers import encoder, memory
from bakeoff.engines.transformers.generation import Generator, Made, neutral_generation_config
from bakeoff.engines.transformers.loading import load_model
from bakeoff.engines.transformers.scoring import Scorer


class Parts:
    """What generates and scores; an encoder has none of it."""

    def __init__(self, facts: ModelFacts, loaded: Any, languages: Languages) -> None:
        model, tokenizer = loaded.model, loaded.tokenizer
        tokenizer.chat_template = on_its_day(tokenizer.chat_template, facts)
        vocabulary = int(model.get_input_embeddings().num_embeddings)
        self.special = Special.of(model.config, model.generation_config, tokenizer, vocabulary)
        self.notices = _silent_template(self.special.silent)
        model.generation_config = neutral_generation_config(model)
        continues = facts.capabilities.kind == "causal"
        self.reader = PromptReader(tokenizer, self.special, languages, vocabulary, continues)
        self.intake = Intake(facts, model.config, self.special, self.reader)
        self.generator = Generator(loaded, self.special)
        self.scorer = Scorer(loaded, self.special.pad)
        self.score_reader = ScoreReader(
            self.reader, self.intake.window, self.intake.encodes, self.intake.written
        )


def _silent_template(reason: str | None) -> tuple[Notice, ...]:
    if reason is None:
        return ()
    text = "the chat template does not render a user's and an assistant's turn, so that how it ends"
    return (Notice("chat-template-fails", f"{text} a turn is unknown ({reason})"),)


class Worker:
    """A loaded model and all that is done with it."""

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
        self.careful = memory.careful(self.loaded, options)
        encodes_only = facts.capabilities.kind == "encoder"
        self.parts = None if encodes_only else Parts(facts, self.loaded, self.languages)
        self.notices = (*self.loaded.notices, *(self.parts.notices if self.parts else ()))

    @property
    def able(self) -> Parts:
        """The parts of a generative model.

        Raises:
            EngineFailed: the model is an encoder; `unsupported` says so before.
        """
        if self.parts is None:
            raise EngineFailed("the model is an encoder: it writes nothing")
        return self.parts

    def rows(self, arrived: Sequence[Arrived]) -> tuple[list[Row], list[Failure]]:
        """Tokenise requests; those that cannot be answered fail alone."""
        rows: list[Row] = []
        failures = []
        for one in arrived:
            try:
                rows += self.able.intake.rows(one)
            except BakeoffError as error:
                failures.append(Failure.of(one.request.id, error))
            except Exception as error:  # a tokenizer may raise anything; it costs this row alone
                failures.append(Failure.of(one.request.id, unreadable(error)))
        return rows, failures

    def score_rows(self, requests: Sequence[ScoreRequest]) -> tuple[list[ScoreRow], list[Failure]]:
        """The same for score requests."""
        rows, failures = [], []
        for request in requests:
            try:
                rows.append(self.able.score_reader.read(request))
            except BakeoffError as error:
                failures.append(Failure.of(request.id, error))
            except Exception as error:  # as above
                failures.append(Failure.of(request.id, unreadable(error)))
        return rows, failures

    def complete(self, rows: Sequence[Row], control: Control) -> list[Completion | Failure]:
        """Generate a batch; a row that fails costs only itself."""
        live = [row for row in rows if not (_settled(row) or control.stopped(row.id))]
        made = dict(zip(live, self._generate(live, control), strict=True))
        outcomes: list[Completion | Failure] = []
        for row in rows:
            found = made.get(row) or _without_model(row, control)
            outcomes += [_outcome(row, one, control) for one in found]
        return outcomes

    def _generate(
        self, rows: Sequence[Row], control: Control, telling: streaming.Telling | None = None
    ) -> list[list[Made]]:
        if not rows:
            return []
        generator = self.able.generator
        show = telling.show if telling is not None else None
        made = self.careful.run(rows, lambda part: generator.run(part, control, show))
        return [[one] if isinstance(one, BakeoffError) else one for one in made]

    def score(self, rows: Sequence[ScoreRow], control: Control) -> list[Likelihood | Failure]:
        """Score a batch; a row that fails costs only itself."""
        scorer = self.able.scorer
        made = self.careful.run(rows, lambda part: scorer.run(part, control))
        return [
            Failure.of(row.id, one) if isinstance(one, BakeoffError) else one
            for row, one in zip(rows, made, strict=True)
        ]

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

    def stream(self, arrived: Arrived, control: Control, push: streaming.Push) -> None:
        """Generate a request alone and push its chunks, choice after choice.

        Raises:
            BakeoffError: the request fails.
        """
        for row in self.able.intake.rows(arrived):
            if _settled(row) or control.stopped(row.id):
                made: list[Made] = _without_model(row, control)
                telling = None
            else:
                telling = self._telling(row, push) if row.lanes == 1 else None
                made = self._generate([row], control, telling)[0]
            for one in made:
                if isinstance(one, BakeoffError):
                    raise one
                if telling is not None:
                    telling.end(one)
                else:
                    push(streaming.whole(one))
                telling = None  # further copies of a greedy text come whole

    def _telling(self, row: Row, push: streaming.Push) -> streaming.Telling:
        able = self.able
        pieces = streaming.pieces_of(
            row, able.generator.decode, able.special.byte_ids, self.loaded.tokenizer
        )
        return streaming.Telling(row, pieces, push)

    def encode(self, text: str) -> list[int]:
        """Ids of a text, special tokens included."""
        ids: list[int] = self.loaded.tokenizer(text, verbose=False)["input_ids"]
        return self.parts.reader.encode(text) if self.parts else ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens left out."""
        return str(self.loaded.tokenizer.decode(list(ids), skip_special_tokens=True))

    def unsupported(self, request: PredictRequest) -> list[str]:
        """What an encoder cannot honour; reads no tensor, so any thread may ask."""
        return encoder.unsupported(self.loaded, request)


def _timing(row: PredictRow, began: float) -> Timing:
    return Timing(queued=began - row.at, done=time.perf_counter() - row.at)


def _outcome(row: Row, made: Made, control: Control) -> Completion | Failure:
    """A text that was broken off because the engine closes is a failure."""
    if isinstance(made, BakeoffError):
        return Failure.of(row.id, made)
    if control.reason == "closed" and made.finish is FinishReason.CANCELLED:
        return Failure.of(row.id, control.error())
    return made


def _settled(row: Row) -> bool:
    """Whether a row needs no computing: it may write nothing, or waited too long."""
    return row.max_new == 0 or row.late(time.perf_counter())


def _without_model(row: Row, control: Control) -> list[Made]:
    """What a row gets that is not computed: it was stopped, is late, or may write nothing."""
    if control.reason is not None:
        return [control.error()]
    if row.max_new > 0 and not control.stopped(row.id):
        return [DeadlineExceeded("the row waited longer than its deadline")]
    stopped = control.stopped(row.id)
    finish = FinishReason.CANCELLED if stopped else FinishReason.LENGTH
    usage = Usage(prompt=row.length, cut=row.cut)
    return [
        Completion(row.id, "", finish, usage=usage, choice=row.choice + copy)
        for copy in range(row.copies)
    ]
