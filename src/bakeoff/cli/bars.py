"""Progress on a terminal: a bar for each model."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.progress import TimeRemainingColumn as Remaining

from bakeoff.cli.flagwords import Wording
from bakeoff.cli.plain import one_line
from bakeoff.cli.progress import QuietProgress, reused
from bakeoff.core.plural import counted
from bakeoff.jobs.events import (
    Event,
    ModelFinished,
    ModelLoading,
    ModelPlanned,
    RowsDone,
    RunStarted,
    Stage,
)


class BarProgress(QuietProgress):
    """A bar for each model: rows, tokens a second, time left."""

    def __init__(self, wording: Wording = str) -> None:
        super().__init__(wording=wording)
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
        if isinstance(event, ModelPlanned):
            self._plan(event)
            return
        super().emit(event)
        if isinstance(event, RunStarted):
            self._say(
                f"{event.name}: {counted(event.rows, 'row')}, {counted(len(event.models), 'model')}"
            )
        elif isinstance(event, ModelLoading):
            self._describe(event.model, f"{event.model} (loading)")
        elif isinstance(event, RowsDone):
            self._advance(event)
        elif isinstance(event, ModelFinished) and event.error:
            self._describe(event.model, f"{event.model} (failed)")
        elif isinstance(event, Stage):
            self._say(f"{event.name} ...")

    def _say(self, text: str) -> None:
        self._bars.console.print(escape(one_line(text)), highlight=False)

    def _plan(self, event: ModelPlanned) -> None:
        done = event.total - event.todo
        if event.why:
            self._say(f"note: {reused(event)}")
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
