"""A model of the zoo behind the scheduler, without an event loop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest
from bakeoff.engines.batch.rows import Arrived, Control
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.steps.scheduler import Scheduler
from bakeoff.engines.transformers.worker import Worker
from tests.contract.targets import Target
from tests.unit.engines.steps.walking import Kept


@dataclass
class Driven:
    """A loaded model, its scheduler, and what was asked of it."""

    target: Target
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        said = EngineOptions(**{"threads": 1, **self.options})
        self.worker = Worker(self.target.facts(), said)
        assert self.worker.stepper is not None
        self.stepper = self.worker.stepper
        self.control = Control()

    @property
    def scheduler(self) -> Scheduler:
        return self.stepper.scheduler

    @property
    def model(self) -> Any:
        return self.scheduler._parts.model

    def paced(self, **changes: int) -> None:
        """Change the limits of the loop."""
        self.scheduler.pace = replace(self.scheduler.pace, **changes)

    def add(self, request: GenerateRequest) -> list[Kept]:
        """Put a request in line; a sink for each of its rows."""
        sinks = []
        for row in self.stepper.read(Arrived(request, time.perf_counter())):
            sinks.append(Kept())
            self.scheduler.add(self.stepper.seq(row, self.control, sinks[-1]))
        return sinks

    def finish(self) -> None:
        """Go on until nothing is left."""
        while self.scheduler.turn():
            pass

    def loop(self, requests: Sequence[GenerateRequest], stagger: int = 0) -> list[Completion]:
        """What the loop makes of requests; each comes so many turns after the one before."""
        sinks = []
        for request in requests:
            sinks += self.add(request)
            for _ in range(stagger):
                self.scheduler.turn()
        self.finish()
        return [completed(sink) for sink in sinks]

    def batch(self, requests: Sequence[GenerateRequest]) -> list[Completion]:
        """What the library's `generate` makes of them."""
        rows, failures = self.worker.rows([Arrived(one, time.perf_counter()) for one in requests])
        assert not failures
        made: dict[tuple[str, int], Completion] = {}
        for batch in self.worker.careful.plan(rows):
            for one in self.worker.complete(batch, Control()):
                assert isinstance(one, Completion), one
                made[one.id, one.choice] = one
        return [made[row.id, row.choice] for row in rows]


def completed(sink: Kept) -> Completion:
    assert sink.made is not None, "not ended"
    assert isinstance(sink.made[0], Completion), sink.made[0]
    return sink.made[0]


def ids(made: Sequence[Completion]) -> list[tuple[int, ...]]:
    return [one.token_ids for one in made]
