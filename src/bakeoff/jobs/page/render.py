"""Renders `report.html`: one file, no network, at most 20 MB."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from bakeoff.core.report import ComparedRow, Report
from bakeoff.jobs.page import details, numbers
from bakeoff.jobs.page.choose import SAMPLE, SPECIAL, PageChoice, choose_rows
from bakeoff.jobs.page.compact import PageRow, compact, shorten
from bakeoff.jobs.page.data import page_data, row_data
from bakeoff.jobs.page.embed import asset, policy, safe_json, script, storable, style
from bakeoff.jobs.page.leaderboard import leaderboard
from bakeoff.jobs.page.summary import headline, notices
from bakeoff.stats.planning import about
from bakeoff.store.files.atomic import write_text

PAGE_BYTES = 20_000_000
"""The page is never larger."""
_TEXT_LIMITS = (None, 4_000, 2_000, 1_000)
"""Tried in turn, before rows are left out."""


def render_page(
    report: Report,
    rows: Iterable[ComparedRow | PageRow],
    spec_yaml: str,
    choice: PageChoice,
    limit_bytes: int = PAGE_BYTES,
) -> str:
    """The page as text.

    Rows are those of `choose_rows`. Where the page would be larger than `limit_bytes`, texts are
    cut, then rows are left out, the sample first; the page says both.

    Args:
        report: what the run says.
        rows: rows to show, in order; all of them are held in memory.
        spec_yaml: the frozen spec.
        choice: how the rows were chosen.
        limit_bytes: of the page in UTF-8.

    Raises:
        ValueError: the page is larger than `limit_bytes` without a single row.
    """
    kept = [_as_page_row(row, order) for order, row in enumerate(rows)]
    room = limit_bytes - len(_page(report, "[]", spec_yaml, choice).encode())
    if room < 0:
        raise ValueError(
            f"the page without rows is {-room:,} bytes larger than the limit of {limit_bytes:,}: "
            "compare fewer models or metrics"
        )
    fitted = _fit(kept, room)
    if fitted.smaller:
        choice = choice.after_drop(fitted.rows, fitted.clipped)
    return _page(report, fitted.encoded, spec_yaml, choice)


def write_page(
    path: Path,
    report: Report,
    rows: Iterable[ComparedRow],
    spec_yaml: str,
    limit: int = 2000,
    seed: int = 0,
) -> PageChoice:
    """Chooses rows and writes the page, whole or not at all: a reader never sees half a file.

    Args:
        path: the page's file.
        report: what the run says.
        rows: all rows of the run, read once.
        spec_yaml: the frozen spec.
        limit: rows on the page.
        seed: of the sample among them.

    Raises:
        OSError: the folder cannot be written.
    """
    chosen, choice = choose_rows(rows, limit, seed, report.ranked_by)
    write_text(path, render_page(report, chosen, spec_yaml, choice))
    return choice


def _as_page_row(row: ComparedRow | PageRow, order: int) -> PageRow:
    if isinstance(row, PageRow):
        return row
    odd = any(not a.ok or a.cut or a.looped or a.empty for a in row.answers)
    return compact(row, order, SPECIAL if odd else SAMPLE)


@dataclass(frozen=True, slots=True)
class _Fitted:
    rows: list[PageRow]
    encoded: str
    clipped: int | None
    smaller: bool


def _fit(rows: list[PageRow], room: int) -> _Fitted:
    # The page says more once it had to become smaller; these bytes are for that sentence.
    room -= 2_000
    parts: list[str] = []
    cut = rows
    for limit in _TEXT_LIMITS:
        cut = rows if limit is None else [shorten(row, limit) for row in rows]
        parts = [safe_json(row_data(row)) for row in cut]
        if sum(len(part.encode()) + 1 for part in parts) <= room:
            return _Fitted(cut, f"[{','.join(parts)}]", limit, smaller=limit is not None)
    kept: list[int] = []
    for index in sorted(range(len(cut)), key=lambda i: (cut[i].rank, cut[i].order)):
        room -= len(parts[index].encode()) + 1
        if room < 0:
            break
        kept.append(index)
    kept.sort()
    encoded = f"[{','.join(parts[i] for i in kept)}]"
    return _Fitted([cut[i] for i in kept], encoded, _TEXT_LIMITS[-1], smaller=True)


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        score=numbers.score,
        seconds=numbers.seconds,
        count=numbers.count,
        plural=numbers.plural,
        probability=numbers.probability,
        about=about,
    )
    return environment.from_string(asset("template.html"))


def _page(report: Report, rows: str, spec_yaml: str, choice: PageChoice) -> str:
    text = _template().render(
        report=report,
        headline=headline(report),
        notices=notices(report),
        board=leaderboard(report),
        pairs=details.pair_lines(report),
        pair_methods=details.pair_methods(report),
        models=details.model_details(report),
        metrics=details.metric_details(report),
        methods=details.interval_methods(report),
        data_facts=details.data_facts(report),
        choice=choice,
        choice_parts=details.choice_parts(choice),
        spec=details.spec_text(spec_yaml),
        policy=policy(),
        # Safe as they are: the program's own files, and JSON without <, > and &.
        style=Markup(style()),
        script=Markup(script()),
        data=Markup(safe_json(page_data(report))),
        rows=Markup(rows),
    )
    return storable(text)
