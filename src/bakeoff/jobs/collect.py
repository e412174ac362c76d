"""From outcomes to journal lines: several outcomes may belong to one row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bakeoff.core.errors import BakeoffError
from bakeoff.core.keys import ask_payload, seed_for
from bakeoff.core.outputs import Completion, Failure, Likelihood, Outcome, Prediction
from bakeoff.core.ports import ScoreAsk
from bakeoff.core.requests import (
    AnswerSpan,
    Classify,
    Embed,
    EngineRequest,
    GenerateRequest,
    PredictRequest,
    ScoreRequest,
    ZeroShot,
)
from bakeoff.core.results import RowError, RowResult, TimingRecord, UsageRecord
from bakeoff.engines.loops import looped
from bakeoff.jobs.contender import Contender
from bakeoff.jobs.plan import PlannedRow


@dataclass(slots=True)
class _Waiting:
    planned: PlannedRow
    outcomes: list[Outcome | None]
    missing: int


@dataclass(slots=True)
class Collector:
    """Hands out requests and puts their outcomes together again.

    Rows under one key are asked once; the journal line serves them all.
    """

    contender: Contender
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _asked: set[bytes] = field(default_factory=set)

    def requests(self, rows: Iterable[PlannedRow]) -> Iterator[EngineRequest | RowResult]:
        """Requests for each row, or the journal line of a row that cannot be asked."""
        for number, planned in enumerate(rows):
            short = bytes.fromhex(planned.key[:32])
            if short in self._asked:
                continue
            self._asked.add(short)
            if planned.refused is not None:
                yield planned.failure
                continue
            yield from self._of(planned, str(number))

    def _of(self, planned: PlannedRow, name: str) -> Iterator[EngineRequest]:
        size = len(planned.ask)
        self._waiting[name] = _Waiting(planned, [None] * size, size)
        decoding = self.contender.decoding
        params = decoding.params
        if params.sampled:
            params = seed_for(params, ask_payload(planned.ask), planned.repeat)
        for place, item in enumerate(planned.ask):
            request_id = f"{name}/{place}"
            if isinstance(item, ScoreAsk):
                yield ScoreRequest(request_id, item.context, item.continuation, decoding.truncate)
            elif isinstance(item, (AnswerSpan, Classify, ZeroShot, Embed)):
                yield PredictRequest(request_id, item, decoding.truncate)
            else:
                yield GenerateRequest(request_id, item, params, decoding.truncate)

    def take(self, outcome: Outcome) -> RowResult | None:
        """Add an outcome; the journal line once its row is complete."""
        name, _, place = outcome.id.rpartition("/")
        waiting = self._waiting.get(name)
        if waiting is None or waiting.outcomes[int(place)] is not None:
            return None
        waiting.outcomes[int(place)] = outcome
        waiting.missing -= 1
        if waiting.missing and not isinstance(outcome, Failure):
            return None
        del self._waiting[name]
        return _result(waiting, self.contender)


def _result(waiting: _Waiting, contender: Contender) -> RowResult:
    planned = waiting.planned
    base = RowResult(key=planned.key, row=planned.row.id, repeat=planned.repeat, ok=False)
    failed = next((o for o in waiting.outcomes if isinstance(o, Failure)), None)
    if failed is not None:
        error = RowError(code=failed.code, message=failed.message, retryable=failed.retryable)
        return base.model_copy(update={"error": error})
    outcomes = [o for o in waiting.outcomes if o is not None and not isinstance(o, Failure)]
    try:
        answer = contender.task.answer(planned.row, outcomes)
    except BakeoffError as problem:
        error = RowError(code=problem.code, message=problem.message, retryable=False)
        return base.model_copy(update={"error": error})
    extra = {name: finite(value) for name, value in answer.extra.items()}
    finish = None
    for outcome in outcomes:
        if isinstance(outcome, Completion):
            finish = outcome.finish.value
            if looped(outcome.token_ids):
                extra["looped"] = True
    return base.model_copy(
        update={
            "ok": True,
            "text": answer.text,
            "finish": finish,
            "usage": _usage(outcomes),
            "timing": _timing(outcomes),
            "concurrency": _company(outcomes),
            "extra": extra,
        }
    )


def _usage(outcomes: list[Completion | Likelihood | Prediction]) -> UsageRecord:
    """What the row took; likelihoods of several answers read one and the same prompt."""
    found = [o.usage for o in outcomes]
    together = max if all(isinstance(o, Likelihood) for o in outcomes) else sum
    return UsageRecord(
        prompt=together(u.prompt for u in found),
        cut=together(u.cut for u in found),
        cached=sum(u.cached for u in found),
        completion=sum(u.completion for u in found),
    )


def _timing(outcomes: list[Completion | Likelihood | Prediction]) -> TimingRecord:
    first = outcomes[0]
    if isinstance(first, Likelihood):
        return TimingRecord()
    timing = first.timing
    return TimingRecord(queued=timing.queued, first_token=timing.first_token, done=timing.done)


def _company(outcomes: list[Completion | Likelihood | Prediction]) -> int:
    known = [o.concurrency for o in outcomes if not isinstance(o, Likelihood)]
    return max(known, default=1)


def finite(value: Any) -> Any:
    """The value as strict JSON can hold it: what is no finite number becomes None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return value
