"""Progress: bars on a terminal, lines of JSON for machines, now and then a line elsewhere."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any

from bakeoff.cli.flagwords import Wording
from bakeoff.cli.plain import one_line
from bakeoff.core.plural import counted, verb
from bakeoff.core.report import Report
from bakeoff.jobs.events import (
    Event,
    ModelFinished,
    ModelLoading,
    ModelPlanned,
    ModelReady,
    Noticed,
    RowsDone,
    RunStarted,
)

SECONDS = 30.0
"""Between two lines of a run that nobody watches."""


def reused(event: ModelPlanned) -> str:
    """How many rows are there already, which are made, and why."""
    made = event.total - event.reused
    there = f"{event.reused} of {counted(event.total, 'row')} {verb(event.reused, 'is', 'are')}"
    text = f"{event.model}: {there} there already"
    if not made:
        return text
    text += f", {made} {verb(made, 'is', 'are')} made"
    if not event.why:
        return text
    more = ", ..." if len(event.first) > 5 else ""
    return f"{text} ({', '.join(event.first[:5])}{more}): {'; '.join(event.why[:5])}"


class QuietProgress:
    """Says nothing but notices and failed models, on standard error.

    Attributes:
        said: notices that were shown, as they came.
    """

    def __init__(self, quiet: bool = False, wording: Wording = str) -> None:
        self._quiet = quiet
        self._wording = wording
        self._again = False
        self.said: set[str] = set()

    def __enter__(self) -> QuietProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        return None

    def emit(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, RunStarted):
            self._again = event.again
        if isinstance(event, Noticed) and not self._quiet and event.text not in self.said:
            self.said.add(event.text)
            self._say(f"note: {self._wording(event.text)}")
        if isinstance(event, ModelPlanned) and not self._quiet and (event.why or self._again):
            self._say(f"note: {reused(event)}")
        if isinstance(event, ModelFinished) and event.error:
            self._say(f"failed: {event.model}: {event.error}")

    def _say(self, text: str) -> None:
        sys.stderr.write(one_line(text) + "\n")

    def report(self, report: Report) -> None:
        """The run is over."""


class JsonProgress(QuietProgress):
    """One JSON object a line on standard output; the last one holds the report."""

    def emit(self, event: Event) -> None:
        """Write the event at once; ASCII, which every encoding of a terminal or pipe can hold."""
        self._line({"event": type(event).__name__, **asdict(event)})

    def report(self, report: Report) -> None:
        """Write the report."""
        self._line({"event": "Report", "report": report.model_dump(mode="json")})

    def _line(self, values: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(values, allow_nan=False) + "\n")
        sys.stdout.flush()


@dataclass(slots=True)
class _Now:
    """Where a model stands."""

    model: str
    total: int
    done: int
    loading: bool = True
    tokens: int = 0
    since: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        """In words."""
        passed = time.monotonic() - self.since
        if self.loading:
            return f"{self.model}: loading, {passed:.0f} s"
        speed = f", {self.tokens / passed:.0f} tok/s" if self.tokens and passed > 0 else ""
        return f"{self.model}: {self.done} of {counted(self.total, 'row')}{speed}"


class LineProgress(QuietProgress):
    """As `QuietProgress`, and a line every half minute that says how far the run is."""

    def __init__(self, wording: Wording = str, seconds: float = SECONDS) -> None:
        super().__init__(wording=wording)
        self._seconds = seconds
        self._now: _Now | None = None
        self._planned: ModelPlanned | None = None
        self._over = threading.Event()
        self._clock = threading.Thread(target=self._tick, daemon=True)

    def __enter__(self) -> LineProgress:
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._clock.join()

    def emit(self, event: Event) -> None:
        """Take an event."""
        super().emit(event)
        now = self._now
        if isinstance(event, ModelPlanned):
            self._planned = event
        elif isinstance(event, ModelLoading) and self._planned is not None:
            self._now = _Now(event.model, self._planned.total, self._planned.reused)
        elif isinstance(event, ModelReady) and now is not None:
            self._now = _Now(now.model, now.total, now.done, loading=False)
        elif isinstance(event, RowsDone) and now is not None:
            now.done += event.rows
            now.tokens += event.completion_tokens
        elif isinstance(event, ModelFinished):
            self._now = None

    def _tick(self) -> None:
        while not self._over.wait(self._seconds):
            now = self._now
            if now is None:
                continue
            try:
                self._say(now.line())
            except OSError:  # nobody reads: the run's own thread meets that where it matters
                return


def make_progress(*, json: bool, quiet: bool, wording: Wording = str) -> QuietProgress:
    """The kind that fits: flags first, then whether standard error is a terminal."""
    if json:
        return JsonProgress()
    if quiet:
        return QuietProgress(quiet=True)
    if not sys.stderr.isatty():
        return LineProgress(wording)
    from bakeoff.cli.bars import BarProgress

    return BarProgress(wording)
