"""What a run tells while it goes on. One way only: nothing is asked back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Planning is done.

    Attributes:
        name: of the run.
        folder: where its files lie.
        rows: rows of the data set.
        models: model ids in order.
        again: whether the folder holds rows of an earlier run.
    """

    name: str
    folder: str
    rows: int
    models: tuple[str, ...]
    again: bool = False


@dataclass(frozen=True, slots=True)
class ModelPlanned:
    """How much of a model's work is there already.

    Attributes:
        total: rows times repeats.
        todo: of these, to be generated.
        why: what makes rows of an earlier run useless, in words; empty where nothing does.
        first: ids of the first rows that are to be generated.
        reused: rows and repeats that are there.
    """

    model: str
    total: int
    todo: int
    why: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    reused: int = 0


@dataclass(frozen=True, slots=True)
class ModelLoading:
    """A model is being loaded."""

    model: str
    reference: str
    engine: str


@dataclass(frozen=True, slots=True)
class ModelReady:
    """A model is loaded; its rows begin."""

    model: str


@dataclass(frozen=True, slots=True)
class RowsDone:
    """Rows reached the journal.

    Attributes:
        rows: how many, failures included.
        failures: of these.
        completion_tokens: new tokens in them.
    """

    model: str
    rows: int
    failures: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """A model's rows are complete, or it failed as a whole (`error` is set then)."""

    model: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something a person should know, at once."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Stage:
    """A later stage begins: `metrics`, `report`."""

    name: str


Event = (
    RunStarted
    | ModelPlanned
    | ModelLoading
    | ModelReady
    | RowsDone
    | ModelFinished
    | Noticed
    | Stage
)
EventSink = Callable[[Event], None]


def silent(event: Event) -> None:
    """A sink that drops everything."""
