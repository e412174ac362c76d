"""What a reader must see first: the one sentence and the warnings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bakeoff.core.report import ModelSummary, Report, Score
from bakeoff.jobs.page import numbers

_QUANTISED = re.compile(r"int8\w*|int4\w*|fp4|nf4|4.?bit|8.?bit", re.IGNORECASE)
_GGUF_QUANT = re.compile(r"(?<![a-z0-9])i?q\d(_[a-z0-9]+)*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Headline:
    """The page's one sentence, and what limits it."""

    kind: str
    sentence: str
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a reader must know before using a number."""

    code: str
    title: str
    items: tuple[tuple[str, str], ...] = ()
    """Model id and what is the matter with it; the id may be empty."""
    note: str = ""


def headline(report: Report) -> Headline:
    """The verdict, or, where there is none, who leads and how surely, in careful words."""
    if report.verdict:
        return Headline(report.verdict.kind, report.verdict.sentence)
    ranked = [m for m in report.ranking if _value(report, m) is not None]
    metric = report.ranked_by
    if metric is None or not ranked:
        return Headline(
            "none", "No metric ranks the models of this run; the table shows what was measured."
        )
    info = report.metrics.get(metric)
    scale = info.scale if info else None
    word = "lowest" if info and info.better == "lower" else "highest"
    first = report.scores[ranked[0]][metric]
    if len(ranked) == 1:
        return Headline("leader", f"{ranked[0]} reaches {metric} {with_interval(first, scale)}.")
    sentence = f"{ranked[0]} has the {word} {metric}: {with_interval(first, scale)}."
    return Headline("leader", sentence, tuple(_caveats(report, metric, ranked[0], ranked[1])))


def _value(report: Report, model: str) -> float | None:
    score = report.scores.get(model, {}).get(report.ranked_by or "")
    return score.value if score else None


def with_interval(score: Score, scale: float | None) -> str:
    """A score and its interval in words."""
    text = numbers.score(score.value, scale)
    if score.low is None or score.high is None:
        return text
    low, high = numbers.score(score.low, scale), numbers.score(score.high, scale)
    return f"{text} (95 % interval {low} to {high})"


def _caveats(report: Report, metric: str, first: str, second: str) -> Iterator[str]:
    a, b = report.scores[first][metric], report.scores[second][metric]
    info = report.metrics.get(metric)
    scale = info.scale if info else None
    yield f"Next is {second} with {with_interval(b, scale)}."
    yield from _separation(report, metric, first, second)
    if a.n != b.n:
        yield (
            f"The two values rest on different rows: {numbers.plural(a.n, 'row')} of {first}, "
            f"{numbers.plural(b.n, 'row')} of {second}."
        )


def _separation(report: Report, metric: str, first: str, second: str) -> Iterator[str]:
    info = report.metrics.get(metric)
    scale = info.scale if info else None
    for pair in report.pairs:
        if pair.metric == metric and {pair.a, pair.b} == {first, second}:
            if pair.difference is None or pair.low is None or pair.high is None:
                continue
            yield (
                f"On the same rows, {pair.a} minus {pair.b} is "
                f"{numbers.score(pair.difference, scale)} (95 % interval "
                f"{numbers.score(pair.low, scale)} to {numbers.score(pair.high, scale)})."
            )
            return
    a, b = report.scores[first][metric], report.scores[second][metric]
    if None in (a.low, a.high, b.low, b.high):
        return
    apart = a.low > b.high or b.low > a.high  # type: ignore[operator]
    if apart:
        yield "Their intervals do not overlap."
    else:
        yield "Their intervals overlap: these rows may be too few to tell the two apart."


def notices(report: Report) -> list[Notice]:
    """All warnings: what the counts of the models say, then the report's others."""
    counted = list(_counts(report))
    known = {notice.code for notice in counted}
    found = [*_status(report, known), *counted]
    for warning in report.warnings:
        if warning.code.replace("-", "_") not in known:
            note = numbers.plural(warning.rows, "row") if warning.rows is not None else ""
            found.append(Notice(warning.code, warning.text, note=note))
    return found


def _status(report: Report, known: set[str]) -> Iterator[Notice]:
    if report.status == "partial" and "failures" not in known:
        yield Notice("partial", "This run is not complete: some rows have no prediction.")
    if report.status == "stopped-early" and not any(
        warning.code == "stopped-early" for warning in report.warnings
    ):
        yield Notice(
            "stopped-early", "This run was stopped early; the report covers what was done."
        )


_Count = tuple[str, str, Callable[[ModelSummary], str], str]

_COUNTS: tuple[_Count, ...] = (
    (
        "failures",
        "Rows without a prediction",
        lambda m: _of(m.failures, m) + _codes(m),
        "They are not in the scores.",
    ),
    (
        "truncated",
        "Inputs cut to fit the model",
        lambda m: f"{_of(m.truncated, m)}, {numbers.plural(m.tokens_cut, 'token')} left out",
        "The model did not see the rest of these inputs.",
    ),
    (
        "ran_to_limit",
        "Answers stopped by the limit on new tokens",
        lambda m: _of(m.ran_to_limit, m),
        "They may end in mid-sentence.",
    ),
    (
        "looped",
        "Answers that repeat themselves without end",
        lambda m: _of(m.looped, m),
        "The same 1 to 8 tokens at least 20 times.",
    ),
    ("empty", "Empty answers", lambda m: _of(m.empty, m), ""),
)


def _counts(report: Report) -> Iterator[Notice]:
    for code, title, words, note in _COUNTS:
        items = tuple(
            (model, words(summary))
            for model, summary in report.models.items()
            if getattr(summary, code)
        )
        if items:
            yield Notice(code, title, items, note)
    quantised = tuple((m, precision(s)) for m, s in report.models.items() if quantisation(s))
    if quantised:
        yield Notice(
            "quantised",
            "Quantised weights",
            quantised,
            "Scores are those of the quantised weights. A GGUF file is computed in float32: its "
            "speed here is not that of a program that computes with the quantised weights.",
        )


def _of(number: int, model: ModelSummary) -> str:
    return f"{number:,} of {model.rows:,}" if model.rows else f"{number:,}"


def _codes(model: ModelSummary) -> str:
    codes = ", ".join(f"{code} {number:,}" for code, number in model.failure_codes.items())
    return f" ({codes})" if codes else ""


def quantisation(model: ModelSummary) -> str:
    """The name of the quantisation that the weights went through, or nothing."""
    found = _QUANTISED.search(f"{model.dtype} {model.numerics}")
    if not found and ".gguf" in model.reference.lower():
        found = _GGUF_QUANT.search(model.reference)
    return found[0] if found else ""


def precision(model: ModelSummary) -> str:
    """Engine, version, number format and, where it is not part of it, quantisation."""
    parts = [model.engine, model.version, "" if model.dtype == "none" else model.dtype]
    quantised = quantisation(model)
    if quantised and quantised.lower() not in model.dtype.lower():
        parts.append(quantised)
    return " ".join(part for part in parts if part)
