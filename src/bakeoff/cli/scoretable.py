"""A table of scores that is whole at any width: intervals move, then metrics go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bakeoff.cli.plain import one_line
from bakeoff.core.report import MetricSummary, Score

MOST_METRICS = 5
_UNBOUND = 100_000
_NAME = 30
_ARROWS = {"higher": " ↑", "lower": " ↓", None: ""}


@dataclass(frozen=True, slots=True)
class Line:
    """One model.

    Attributes:
        more: name of a further column to its cell; cells that are lists break between their items.
    """

    label: str
    scores: Mapping[str, Score]
    more: Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """What is shown.

    Attributes:
        head: name of the first column.
        metrics: all that were measured.
        names: of metrics, the most important first.
        dispensable: further columns that may go, the first of them before a metric does.
    """

    title: str
    head: str
    metrics: Mapping[str, MetricSummary]
    names: Sequence[str]
    lines: Sequence[Line]
    dispensable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Shape:
    """How narrow.

    Attributes:
        metrics: columns of metrics.
        below: intervals stand below their values.
        bare: only the first metric has an interval.
        dropped: so many dispensable columns are left out.
        folded: long names of models go on in the next line.
    """

    metrics: int
    below: bool = False
    bare: bool = False
    dropped: int = 0
    folded: bool = False


def shown_metrics(metrics: Mapping[str, MetricSummary], ranked_by: str | None) -> list[str]:
    """The deciding metric first, then the others that have a direction."""
    names = [name for name, summary in metrics.items() if summary.better is not None]
    names.sort(key=lambda name: name != ranked_by)
    return names or list(metrics)


def fitted(wanted: ScoreTable, console: Console) -> tuple[Table, list[str]]:
    """The table that the console has room for, and the metrics that it leaves out."""
    unbound = console.options.update(width=_UNBOUND)
    shape = _Shape(0)
    for shape in _shapes(min(len(wanted.names), MOST_METRICS)):
        table = _table(wanted, shape)
        if console.measure(table, options=unbound).maximum <= console.width:
            break
    shown = wanted.names[: shape.metrics]
    return _table(wanted, shape), [name for name in wanted.metrics if name not in shown]


def _shapes(most: int) -> list[_Shape]:
    """From wide to narrow."""
    if not most:
        return [_Shape(0)]
    wide = _Shape(most)
    low = replace(wide, below=True)
    narrow = replace(low, dropped=1)
    fewer = [replace(narrow, metrics=count) for count in range(most - 1, 2, -1)]
    bare = [replace(narrow, metrics=n, bare=True) for n in range(min(most, 3), 0, -1)]
    whole = [wide, low, narrow, *fewer, *bare]
    folded = [replace(shape, folded=True) for shape in whole[1:]]
    last = [replace(folded[-1], dropped=count) for count in (2, 3)]
    return [*whole, *folded, *last]


def _table(wanted: ScoreTable, shape: _Shape) -> Table:
    table = Table(box=SIMPLE_HEAD, title=escape(one_line(wanted.title)), title_justify="left")
    table.add_column(wanted.head, overflow="fold", max_width=_NAME if shape.folded else None)
    names = wanted.names[: shape.metrics]
    for name in names:
        head = escape(name + _ARROWS[wanted.metrics[name].better])
        table.add_column(head, justify="right", no_wrap=True)
    dropped = wanted.dispensable[: shape.dropped]
    more = [name for name in (wanted.lines[0].more if wanted.lines else ()) if name not in dropped]
    for name in more:
        table.add_column(name, justify="left" if name == "notes" else "right", no_wrap=True)
    for line in wanted.lines:
        cells = [_score(wanted, shape, line, name) for name in names]
        rest = [_joined(line.more[name], shape.below) for name in more]
        table.add_row(escape(one_line(line.label)), *cells, *map(escape, rest))
    return table


def _score(wanted: ScoreTable, shape: _Shape, line: Line, name: str) -> str:
    value, interval = number(line.scores.get(name), wanted.metrics[name].scale)
    if not interval or (shape.bare and name != wanted.names[0]):
        return value
    return f"{value}\n{interval}" if shape.below else f"{value} ({interval})"


def _joined(cell: str | Sequence[str], below: bool) -> str:
    if isinstance(cell, str):
        return cell
    return (",\n" if below else ", ").join(cell)


def number(score: Score | None, scale: float | None) -> tuple[str, str]:
    """Value and interval; a dash where nothing was measured."""
    if score is None or score.value is None:
        return "-", ""
    digits = 3 if scale == 1 else 1
    value = f"{score.value:.{digits}f}"
    if score.low is None or score.high is None:
        return value, ""
    dash = " to " if score.low < 0 else "-"
    return value, f"{score.low:.{digits}f}{dash}{score.high:.{digits}f}"
