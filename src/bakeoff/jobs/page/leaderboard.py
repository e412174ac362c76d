"""The leaderboard as a table of cells: texts, sort values and the geometry of the bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bakeoff.core.report import LatencySummary, ModelSummary, Report, Score
from bakeoff.jobs.page import numbers, summary

SHOWN_METRICS = 4
"""Metric columns that are open at first; the others are one click away."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the leaderboard."""

    key: str
    label: str
    family: str
    """quality, speed or problems."""
    better: str | None
    """higher, lower, or None where neither is better."""
    title: str
    folded: bool = False
    deciding: bool = False
    note: str = ""
    """Small text under the label."""


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval on its column's scale, in percent of the width."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as it is shown and as it sorts."""

    text: str
    sort: float | None = None
    detail: str = ""
    title: str = ""
    bar: Bar | None = None
    best: bool = False
    alarm: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One model's row of the table."""

    model: str
    place: str
    place_title: str
    summary: ModelSummary
    precision: str
    quantised: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The table."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]


def leaderboard(report: Report) -> Leaderboard:
    """All models, ranked ones first, with every metric, speed and problem as a cell."""
    order = [m for m in report.ranking if m in report.models]
    order += [m for m in report.models if m not in order]
    columns = [*_metric_columns(report), *_speed_columns(report, order), *_problem_columns(report)]
    cells = [_cells(report, column, order) for column in columns]
    lines = tuple(
        Line(
            model=model,
            place=place,
            place_title=title,
            summary=report.models[model],
            precision=summary.precision(report.models[model]),
            quantised=summary.quantisation(report.models[model]),
            cells=tuple(column[i] for column in cells),
        )
        for i, (model, (place, title)) in enumerate(
            zip(order, (_place(report, m) for m in order), strict=True)
        )
    )
    return Leaderboard(tuple(columns), lines)


def _place(report: Report, model: str) -> tuple[str, str]:
    for number, tier in enumerate(report.tiers, start=1):
        if model in tier:
            others = len(tier) - 1
            if others == 0:
                return str(number), f"tier {number}, on its own"
            alike = f"not told apart from {numbers.plural(others, 'other model')}"
            return f"{number}=", f"tier {number}, {alike}"
    if model in report.ranking:
        place = report.ranking.index(model) + 1
        return str(place), f"place {place} by {report.ranked_by}"
    return "–", "not ranked"


def metric_order(report: Report) -> list[str]:
    """Metrics with the deciding one first."""
    names = list(report.metrics)
    names += sorted({m for scores in report.scores.values() for m in scores} - set(names))
    return sorted(names, key=lambda name: name != report.ranked_by)


def _metric_columns(report: Report) -> Iterator[Column]:
    for index, name in enumerate(metric_order(report)):
        info = report.metrics.get(name)
        better = info.better if info else None
        words = {"higher": "higher is better", "lower": "lower is better"}.get(
            better or "", "neither direction is better"
        )
        yield Column(
            key=f"metric:{name}",
            label=name,
            family="quality",
            better=better,
            title=f"{name}: {words}; value with its 95 % interval over rows",
            folded=index >= SHOWN_METRICS,
            deciding=name == report.ranked_by,
        )


def conditions(model: ModelSummary) -> str | None:
    """Under which conditions a model's latency was measured."""
    if model.latency is None:
        return None
    return f"{model.device or 'unnamed device'}, {model.latency.concurrency} at a time"


def _speed_columns(report: Report, order: list[str]) -> Iterator[Column]:
    if any(report.models[m].tokens_per_s is not None for m in order):
        title = "New tokens a second of generation, at the batch that each model ran with"
        yield Column("tokens_per_s", "tokens/s", "speed", None, title)
    known = {conditions(report.models[m]) for m in order} - {None}
    if not known:
        return
    same = len(known) == 1
    how = f"measured with {known.pop()}" if same else "measured under different conditions"
    better = "lower" if same else None
    names = (("p50", "p50"), ("p95", "p95"), ("first_token_p50", "first token"))
    for key, label in names:
        if any(_latency(report.models[m], key) is not None for m in order):
            title = f"Seconds a row, {label}, {how}"
            yield Column(key, label, "speed", better, title, note="" if same else "not comparable")


_PROBLEMS = (
    ("failures", "failed", "Rows without a prediction"),
    ("truncated", "cut", "Rows whose input was cut to fit the model"),
    ("ran_to_limit", "to limit", "Answers that ran to the limit on new tokens"),
    ("looped", "looped", "Answers that repeat the same 1 to 8 tokens at least 20 times"),
    ("empty", "empty", "Empty answers"),
)


def _problem_columns(report: Report) -> Iterator[Column]:
    for key, label, title in _PROBLEMS:
        yield Column(key, label, "problems", "lower", title)


def _latency(model: ModelSummary, key: str) -> float | None:
    return getattr(model.latency, key) if isinstance(model.latency, LatencySummary) else None


def _cells(report: Report, column: Column, order: list[str]) -> list[Cell]:
    if column.family == "quality":
        return _metric_cells(report, column, order)
    make: Callable[[ModelSummary], Cell]
    if column.family == "problems":
        make = lambda m: _problem_cell(m, column.key)  # noqa: E731
    elif column.key == "tokens_per_s":
        make = _tokens_cell
    else:
        make = lambda m: _latency_cell(m, column)  # noqa: E731
    return [make(report.models[m]) for m in order]


def _problem_cell(model: ModelSummary, key: str) -> Cell:
    number = int(getattr(model, key))
    share = f"{100 * number / model.rows:.0f} %" if number and model.rows else ""
    return Cell(numbers.count(number), float(number), detail=share, alarm=number > 0)


def _tokens_cell(model: ModelSummary) -> Cell:
    if model.tokens_per_s is None:
        return Cell("–", title="nothing was generated")
    batch = f"batch {model.batch:.3g}" if model.batch is not None else ""
    return Cell(numbers.significant(model.tokens_per_s), model.tokens_per_s, detail=batch)


def _latency_cell(model: ModelSummary, column: Column) -> Cell:
    value = _latency(model, column.key)
    if value is None or model.latency is None:
        return Cell("–", title="not measured")
    detail = "" if column.better else conditions(model) or ""
    title = f"{numbers.plural(model.latency.rows, 'row')}, {conditions(model)}"
    return Cell(numbers.seconds(value), value, detail=detail, title=title)


def _metric_cells(report: Report, column: Column, order: list[str]) -> list[Cell]:
    name = column.label
    info = report.metrics.get(name)
    scale = info.scale if info else None
    scores = [report.scores.get(model, {}).get(name) for model in order]
    values = [s.value for s in scores if s and s.value is not None]
    best = None
    if column.better and len(values) > 1:
        best = max(values) if column.better == "higher" else min(values)
    bars = _bars(scores)
    return [
        _metric_cell(score, scale, bar, best, report.models[model].rows)
        for score, bar, model in zip(scores, bars, order, strict=True)
    ]


def _metric_cell(
    score: Score | None, scale: float | None, bar: Bar | None, best: float | None, rows: int
) -> Cell:
    if score is None:
        return Cell("–", title="this metric was not computed for this model")
    reasons = ", ".join(f"{why} {n:,}" for why, n in score.reasons.items())
    if score.value is None:
        return Cell("–", detail=reasons or "no value", title=reasons)
    title = summary.with_interval(score, scale) + f", {numbers.plural(score.n, 'row')}"
    title += f"; without a value: {reasons}" if reasons else ""
    return Cell(
        text=numbers.score(score.value, scale),
        sort=score.value,
        detail=f"{score.n:,} of {rows:,} rows" if rows and score.n < rows else "",
        title=title,
        bar=bar,
        best=best is not None and score.value == best,
    )


def _bars(scores: list[Score | None]) -> list[Bar | None]:
    """Intervals on the scale of their column: its lowest low to its highest high, and a margin."""
    known = [s for s in scores if s is not None and s.value is not None]
    ends = [end for s in known for end in (s.low, s.value, s.high) if end is not None]
    if not ends:
        return [None] * len(scores)
    width = (max(ends) - min(ends)) or abs(max(ends)) or 1.0
    start, width = min(ends) - 0.06 * width, 1.12 * width

    def place(value: float | None, instead: float) -> float:
        return round(100 * ((instead if value is None else value) - start) / width, 2)

    return [
        None
        if s is None or s.value is None
        else Bar(place(s.low, s.value), place(s.value, s.value), place(s.high, s.value))
        for s in scores
    ]
