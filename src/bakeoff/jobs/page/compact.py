"""A compared row as the page holds it: long texts cut, equal answers of repeats merged."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from bakeoff.core.report import ComparedAnswer, ComparedRow

TEXT_LIMIT = 8_000
"""Characters of one text that the page keeps at most."""
ROW_LIMIT = 64_000
"""Characters of one row that the page aims at; the texts of a row share it."""
SHORTEST = 400
"""Characters that a text keeps however many texts its row has."""
DISTINCT_ANSWERS = 20
"""Different answers of one model to one row that the page keeps."""


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana, Han: every character stands for itself."""
_PIECE = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Clip:
    """A text, cut; `more` counts the characters that are left out."""

    text: str
    more: int = 0


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """One distinct answer of a model; `count` repeats gave it."""

    model: str
    text: Clip | None
    error: Clip | None
    count: int = 1
    finish: str | None = None
    cut: int = 0
    looped: bool = False
    empty: bool = False
    tokens: int = 0
    seconds: float | None = None
    scores: tuple[tuple[str, float | None], ...] = ()
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row of the page.

    Attributes:
        order: place in the data set, from 0.
        rank: 0 is kept longest when the page is too large, then 1, 2.
        distance: how much the answers differ, 0 to 1.
        more_answers: distinct answers that are left out.
    """

    row: str
    group: str | None
    inputs: tuple[tuple[str, Clip], ...]
    references: tuple[Clip, ...]
    answers: tuple[PageAnswer, ...]
    order: int = 0
    rank: int = 2
    distance: float = 0.0
    more_answers: int = 0


def clip(text: str, limit: int) -> Clip:
    """The first `limit` characters."""
    return Clip(text[:limit], max(0, len(text) - limit))


def _reclip(cell: Clip, limit: int) -> Clip:
    cut = clip(cell.text, limit)
    return Clip(cut.text, cut.more + cell.more)


def shorten(row: PageRow, limit: int) -> PageRow:
    """The same row with every text cut to `limit` characters."""
    answers = tuple(
        replace(
            a,
            text=_reclip(a.text, limit) if a.text else None,
            error=_reclip(a.error, limit) if a.error else None,
        )
        for a in row.answers
    )
    return replace(
        row,
        inputs=tuple((name, _reclip(cell, limit)) for name, cell in row.inputs),
        references=tuple(_reclip(cell, limit) for cell in row.references),
        answers=answers,
    )


def compact(row: ComparedRow, order: int = 0, rank: int = 2) -> PageRow:
    """Cuts and merges a row so that it takes a bounded amount of memory."""
    merged, more_answers = _merge(row.answers)
    texts = len(row.inputs) + len(row.references) + len(merged)
    limit = min(TEXT_LIMIT, max(SHORTEST, ROW_LIMIT // max(1, texts)))
    return PageRow(
        row=row.row,
        group=row.group,
        inputs=tuple((name, clip(text, limit)) for name, text in row.inputs.items()),
        references=tuple(clip(text, limit) for text in row.references),
        answers=tuple(_answer(same, limit) for same in merged),
        order=order,
        rank=rank,
        distance=text_distance(row.answers),
        more_answers=more_answers,
    )


def _merge(answers: Iterable[ComparedAnswer]) -> tuple[list[list[ComparedAnswer]], int]:
    """Answers of one model that say the same, the most frequent first."""
    by_model: dict[str, dict[tuple[bool, str | None], list[ComparedAnswer]]] = {}
    for answer in answers:
        said = (answer.ok, answer.text if answer.ok else answer.error)
        by_model.setdefault(answer.model, {}).setdefault(said, []).append(answer)
    kept: list[list[ComparedAnswer]] = []
    left_out = 0
    for distinct in by_model.values():
        ordered = sorted(distinct.values(), key=len, reverse=True)
        kept.extend(ordered[:DISTINCT_ANSWERS])
        left_out += max(0, len(ordered) - DISTINCT_ANSWERS)
    return kept, left_out


def _answer(same: list[ComparedAnswer], limit: int) -> PageAnswer:
    first = same[0]
    return PageAnswer(
        model=first.model,
        text=clip(first.text or "", limit) if first.ok else None,
        error=None if first.ok else clip(first.error or "failed, no cause was recorded", limit),
        count=len(same),
        finish=first.finish,
        cut=max(a.cut for a in same),
        looped=any(a.looped for a in same),
        empty=any(a.empty for a in same),
        tokens=first.completion_tokens,
        seconds=_mean(a.seconds for a in same),
        scores=tuple((name, _mean(a.scores.get(name) for a in same)) for name in _names(same)),
        extra=tuple((name, _short(value)) for name, value in islice(_told(first), 20)),
    )


def _told(answer: ComparedAnswer) -> Iterator[tuple[str, Any]]:
    """Extras that say something that the answer itself does not."""
    for name, value in answer.extra.items():
        if name not in ("looped", "engine", "version") and value not in (None, "", [], {}):
            yield name, value


def _names(answers: Iterable[ComparedAnswer]) -> list[str]:
    return list(dict.fromkeys(name for a in answers for name in a.scores))


def _mean(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None and math.isfinite(v)]
    return sum(known) / len(known) if known else None


def _short(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 300 else text[:299] + "…"


def text_distance(answers: Iterable[ComparedAnswer]) -> float:
    """1 minus the share of words that the models' first answers have in common, 0 to 1.

    Texts without spaces are compared by character; only the first 2,000 characters count.
    """
    first: dict[str, str] = {}
    for answer in answers:
        if answer.ok and answer.text is not None:
            first.setdefault(answer.model, answer.text)
    sets = [_pieces(text[:2000]) for text in dict.fromkeys(first.values())]
    if len(sets) < 2:
        return 0.0
    union = set().union(*sets)
    shared = set(sets[0]).intersection(*sets[1:])
    return 1.0 - len(shared) / len(union) if union else 0.0


def _pieces(text: str) -> set[str]:
    return set(_PIECE.findall(text))


def score_spread(answers: Iterable[ComparedAnswer], metric: str) -> float | None:
    """Highest minus lowest score of the models, each averaged over its repeats."""
    by_model: dict[str, list[float]] = {}
    for answer in answers:
        value = answer.scores.get(metric)
        if value is not None and math.isfinite(value):
            by_model.setdefault(answer.model, []).append(value)
    means = [sum(values) / len(values) for values in by_model.values()]
    return max(means) - min(means) if len(means) > 1 else None
