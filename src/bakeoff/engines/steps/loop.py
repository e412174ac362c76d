"""`Loop`: keeps a scheduler going on a compute thread, one turn a job, as long as there is work.

Other jobs of the thread (tokenising, scoring, a library's own batches) have their turn between
two turns of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, Protocol

from bakeoff.core.errors import BakeoffError, EngineClosed
from bakeoff.engines.batch.careful import failed
from bakeoff.engines.steps.sequence import Seq

Submit = Callable[[Callable[[], Any]], "Future[Any]"]
"""Puts a call in line on the compute thread; raises `EngineClosed` where that was closed."""


class Turns(Protocol):
    """What is kept going; see `Scheduler`."""

    def __len__(self) -> int:
        """How many sequences there are."""

    def add(self, seq: Seq) -> None:
        """Put a row in line."""

    def turn(self) -> bool:
        """Go on by one step; whether there is more to do."""

    def fail(self, error: BakeoffError) -> None:
        """Everyone fails."""


class Loop:
    """On the compute thread, except for what the thread itself calls when it is closed."""

    def __init__(self, scheduler: Turns, submit: Submit) -> None:
        self._scheduler = scheduler
        self._submit = submit
        self._going = False

    def add(self, seqs: Iterable[Seq]) -> None:
        """Put rows in line; those that need no computing end at once."""
        for seq in seqs:
            self._scheduler.add(seq)
        if len(self._scheduler) and not self._going:
            self._going = True
            self._next()

    def _next(self) -> None:
        try:
            self._submit(self._turn).add_done_callback(self._done)
        except EngineClosed as error:
            self._fail(error)

    def _turn(self) -> None:
        self._going = self._scheduler.turn()
        if self._going:
            self._next()

    def _done(self, turn: Future[None]) -> None:
        error = None if turn.cancelled() else turn.exception()
        if error is not None:
            self._fail(error if isinstance(error, BakeoffError) else failed(error))

    def _fail(self, error: BakeoffError) -> None:
        """Everyone fails; what is asked later starts anew."""
        self._going = False
        self._scheduler.fail(error)
