"""Progress: bars on a terminal, lines of JSON for machines, silence elsewhere."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as Remaining

from bakeoff.cli.plain import one_line
from bakeoff.core.report import Report
from bakeoff.jobs.events import (
    Event,
    ModelFinished,
    ModelLoading,
    ModelPlanned,
    Noticed,
    RowsDone,
    RunStarted,
    Stage,
)


def made_anew(event: ModelPlanned) -> str:
    """Which rows are generated although the run folder holds rows, and why."""
    shown = ", ".join(event.first[:5])
    more = ", ..." if len(event.first) > 5 else ""
    reasons = "; ".join(event.why[:5])
    return f"{event.model}: {event.todo} rows are made anew ({shown}{more}): {reasons}"


class QuietProgress:
    """Says nothing but notices and failed models, on standard error."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet

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
        if isinstance(event, Noticed) and not self._quiet:
            sys.stderr.write(f"note: {one_line(event.text)}\n")
        if isinstance(event, ModelPlanned) and event.why and not self._quiet:
            sys.stderr.write(f"note: {one_line(made_anew(event))}\n")
        if isinstance(event, ModelFinished) and event.error:
            sys.stderr.write(f"failed: {event.model}: {one_line(event.error)}\n")

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


class BarProgress(QuietProgress):
    """A bar for each model: rows, tokens a second, time left."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            Remaining(compact=True),
            console=self._console,
        )
        self._tasks: dict[str, TaskID] = {}
        self._tokens: dict[str, int] = {}
        self._started: dict[str, float] = {}

    def __enter__(self) -> BarProgress:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def emit(self, event: Event) -> None:
        """Draw."""
        if isinstance(event, RunStarted):
            self._say(f"{event.name}: {event.rows} rows, {len(event.models)} models")
        elif isinstance(event, Noticed):
            self._say(f"note: {event.text}")
        elif isinstance(event, ModelPlanned):
            self._plan(event)
        elif isinstance(event, ModelLoading):
            self._describe(event.model, f"{event.model} (loading)")
        elif isinstance(event, RowsDone):
            self._advance(event)
        elif isinstance(event, ModelFinished):
            self._finish(event)
        elif isinstance(event, Stage):
            self._say(f"{event.name} ...")

    def _say(self, text: str) -> None:
        self._bars.console.print(escape(one_line(text)), highlight=False)

    def _plan(self, event: ModelPlanned) -> None:
        done = event.total - event.todo
        if event.why:
            self._say(made_anew(event))
        task = self._bars.add_task(
            escape(event.model), total=event.total, completed=done, speed="reused" if done else ""
        )
        self._tasks[event.model] = task

    def _describe(self, model: str, text: str) -> None:
        if model in self._tasks:
            self._bars.update(self._tasks[model], description=escape(text))

    def _advance(self, event: RowsDone) -> None:
        now = time.monotonic()
        if event.model not in self._started:  # when these rows began is not known
            self._started[event.model], self._tokens[event.model] = now, -event.completion_tokens
        begun = self._started[event.model]
        tokens = self._tokens[event.model] = self._tokens[event.model] + event.completion_tokens
        speed = f"{tokens / (now - begun):.0f} tok/s" if tokens and now > begun else ""
        task = self._tasks[event.model]
        self._bars.update(task, advance=event.rows, speed=speed, description=escape(event.model))

    def _finish(self, event: ModelFinished) -> None:
        if event.error:
            self._describe(event.model, f"{event.model} (failed)")
            self._say(f"failed: {event.model}: {event.error}")


def make_progress(*, json: bool, quiet: bool) -> QuietProgress:
    """The kind that fits: flags first, then whether standard error is a terminal."""
    if json:
        return JsonProgress()
    if quiet or not sys.stderr.isatty():
        return QuietProgress(quiet)
    return BarProgress()
