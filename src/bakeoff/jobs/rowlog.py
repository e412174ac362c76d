"""Progress of a model's rows in the run's log."""

from __future__ import annotations

import time

from bakeoff.jobs.events import Event, EventSink, RowsDone
from bakeoff.store.files.runfolder import RunFolder

SECONDS = 30.0
"""Between two lines of the log."""


class RowLog:
    """Counts rows as they are told of, and writes them down now and then."""

    def __init__(self, folder: RunFolder, model: str, todo: int) -> None:
        self._folder = folder
        self._model = model
        self._todo = todo
        self._done = self._failed = self._logged = 0
        self._at = time.monotonic()

    def beside(self, emit: EventSink) -> EventSink:
        """The same sink, which is counted too."""

        def both(event: Event) -> None:
            if isinstance(event, RowsDone):
                self._add(event)
            emit(event)

        return both

    def _add(self, event: RowsDone) -> None:
        self._done += event.rows
        self._failed += event.failures
        if time.monotonic() - self._at >= SECONDS:
            self._write()

    def close(self) -> None:
        """Write down what came since."""
        if self._done > self._logged:
            self._write()

    def _write(self) -> None:
        self._at, self._logged = time.monotonic(), self._done
        self._folder.log(
            "rows", model=self._model, done=self._done, todo=self._todo, failed=self._failed
        )
