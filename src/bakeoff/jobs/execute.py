"""Carry out one contender: requests out, journal lines in."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, field

from bakeoff.core.errors import EngineFailed, TooManyFailures
from bakeoff.core.outputs import Outcome
from bakeoff.core.ports import Engine
from bakeoff.core.requests import EngineRequest, GenerateRequest, PredictRequest, ScoreRequest
from bakeoff.core.results import RowResult
from bakeoff.jobs.closing import closed_after
from bakeoff.jobs.collect import Collector
from bakeoff.jobs.contender import Contender
from bakeoff.jobs.events import EventSink, RowsDone
from bakeoff.jobs.faults import translated
from bakeoff.jobs.plan import PlannedRow
from bakeoff.store.files.journal import JournalWriter

FLUSH_ROWS = 64
FLUSH_SECONDS = 0.5


@dataclass(slots=True)
class FailureLimit:
    """Counts failures over a whole run; `limit` None never stops."""

    limit: int | None
    seen: int = 0

    def add(self, failures: int) -> None:
        """Count.

        Raises:
            TooManyFailures: the limit is passed.
        """
        self.seen += failures
        if self.limit is not None and self.seen > self.limit:
            raise TooManyFailures(
                f"{self.seen} rows failed, max_failures allows {self.limit}: stopped"
            )


@dataclass(slots=True)
class Tally:
    """What this attempt did; becomes a measurement."""

    rows: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    batch_sum: int = 0
    started: float | None = None
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """From the first request that the engine took to its last outcome."""
        if self.started is None or self.ended is None:
            return 0.0
        return self.ended - self.started

    def add(self, row: RowResult) -> None:
        """Count a finished row."""
        self.rows += 1
        self.failures += not row.ok
        self.prompt_tokens += row.usage.prompt
        self.completion_tokens += row.usage.completion
        self.batch_sum += row.concurrency


@dataclass(slots=True)
class RowSink:
    """Gathers lines and writes them by the batch."""

    model: str
    journal: JournalWriter
    limit: FailureLimit
    emit: EventSink
    written: int = 0
    """Lines in the journal."""
    _buffer: list[RowResult] = field(default_factory=list)
    _flushed: float = field(default_factory=time.monotonic)

    def add(self, row: RowResult) -> None:
        """Take a line; written when enough came together or enough time passed."""
        self._buffer.append(row)
        late = time.monotonic() - self._flushed >= FLUSH_SECONDS
        if len(self._buffer) >= FLUSH_ROWS or late:
            self.flush()

    def flush(self) -> None:
        """Write what is there.

        Raises:
            TooManyFailures: the run's limit is passed; what was gathered is written before.
        """
        rows, self._buffer = self._buffer, []
        self._flushed = time.monotonic()
        if not rows:
            return
        self.journal.append(rows)
        self.written += len(rows)
        failures = sum(not row.ok for row in rows)
        tokens = sum(row.usage.completion for row in rows)
        self.emit(RowsDone(self.model, len(rows), failures, tokens))
        self.limit.add(failures)


async def run_rows(
    contender: Contender, engine: Engine, rows: Iterable[PlannedRow], sink: RowSink
) -> Tally:
    """Ask all rows; every one of them reaches the sink.

    The engine pulls rows as it has room, so the data set streams. Cancelling this coroutine
    cancels the engine's work within one step; finished rows are written first.
    """
    collector = Collector(contender)
    tally = Tally()
    feed = _Feed(collector, rows, sink, tally)
    try:
        async with closed_after(_watched(engine, feed)) as outcomes:
            async for outcome in outcomes:
                tally.ended = time.monotonic()
                row = collector.take(outcome)
                if row is not None:
                    tally.add(row)
                    sink.add(row)
    finally:
        sink.flush()
    return tally


@dataclass(slots=True)
class _Feed:
    """The requests as the engine pulls them; rows that cannot be asked go straight to the sink."""

    collector: Collector
    rows: Iterable[PlannedRow]
    sink: RowSink
    tally: Tally
    problem: Exception | None = None
    """What ended the feed: not the engine's doing, although it passes through the engine."""

    def __iter__(self) -> Iterator[EngineRequest]:
        try:
            yield from self._requests()
        except Exception as problem:
            self.problem = problem
            raise

    def _requests(self) -> Iterator[EngineRequest]:
        for item in self.collector.requests(self.rows):
            if isinstance(item, RowResult):
                self.tally.add(item)
                self.sink.add(item)
                continue
            if self.tally.started is None:
                self.tally.started = time.monotonic()
            yield item


async def _watched(engine: Engine, feed: _Feed) -> AsyncIterator[Outcome]:
    """All outcomes; an exception that the engine raises fails the model and not the run."""
    with translated("computing rows", EngineFailed, lambda: feed.problem):
        async with closed_after(_outcomes(engine, feed)) as outcomes:
            async for outcome in outcomes:
                yield outcome


async def _outcomes(engine: Engine, feed: Iterable[EngineRequest]) -> AsyncIterator[Outcome]:
    """All outcomes, whichever method of the engine the requests belong to."""
    pending = iter(feed)
    first = next(pending, None)
    while first is not None:
        run = _SameKind(first, pending)
        async with closed_after(_call(engine, run)) as outcomes:
            async for outcome in outcomes:
                yield outcome
        first = run.rest


class _SameKind:
    """Requests of one type; stops in front of the first of another type and keeps it."""

    def __init__(self, first: EngineRequest, pending: Iterator[EngineRequest]) -> None:
        self.kind = type(first)
        self.rest: EngineRequest | None = None
        self._first: EngineRequest | None = first
        self._pending = pending

    def __iter__(self) -> Iterator[EngineRequest]:
        if self._first is not None:
            first, self._first = self._first, None
            yield first
        for request in self._pending:
            if type(request) is not self.kind:
                self.rest = request
                return
            yield request


async def _call(engine: Engine, run: _SameKind) -> AsyncIterator[Outcome]:
    if issubclass(run.kind, GenerateRequest):
        source = engine.complete(r for r in run if isinstance(r, GenerateRequest))
        async for completion in source:
            yield completion
    elif issubclass(run.kind, ScoreRequest):
        async for likelihood in engine.score(r for r in run if isinstance(r, ScoreRequest)):
            yield likelihood
    else:
        async for prediction in engine.predict(r for r in run if isinstance(r, PredictRequest)):
            yield prediction
