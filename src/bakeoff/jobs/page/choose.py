"""Which rows a page shows, chosen in one pass and bounded memory."""

from __future__ import annotations

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from bakeoff.core.report import ComparedAnswer, ComparedRow
from bakeoff.jobs.page.compact import PageRow, compact, score_spread, text_distance

_KINDS_OF_FAILURE = 200
"""Distinct messages that are told apart; further ones count by their code."""
_CODE = re.compile(r"[a-z][a-z_]{0,39}(?=:|$)")
_DIGITS = re.compile(r"\d+")

SPECIAL, DISAGREEMENT, SAMPLE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class PageChoice:
    """What the page says about the rows that it shows.

    Attributes:
        total: rows of the run.
        shown: rows on the page.
        found: rows of the run of each kind (failed, truncated, looped, ...).
        kept: rows on the page by the reason that chose them: special, disagreement, sample.
        metric: metric whose spread ranks disagreements; None: by the words of the answers.
        clipped: characters of a text that the page shows at most.
        dropped: rows that were chosen and then left out to keep the page small.
    """

    total: int = 0
    shown: int = 0
    limit: int = 2000
    seed: int = 0
    found: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    metric: str | None = None
    clipped: int | None = None
    dropped: int = 0

    def after_drop(self, rows: list[PageRow], clipped: int | None) -> PageChoice:
        """The same choice when the page had to become smaller."""
        return replace(
            self,
            shown=len(rows),
            kept=count_reasons(rows),
            clipped=clipped,
            dropped=max(0, self.shown - len(rows)),
        )


def count_reasons(rows: Iterable[PageRow]) -> dict[str, int]:
    """Rows by the reason that put them on the page."""
    names = {SPECIAL: "special", DISAGREEMENT: "disagreement", SAMPLE: "sample"}
    counts = Counter(names[row.rank] for row in rows)
    return {name: counts[name] for name in names.values() if counts[name]}


class _Kept:
    """The rows with the smallest priorities; draws depend on ids and seed, not on order."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, PageRow]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def wants(self, priority: float, room: int) -> bool:
        return len(self._heap) < room or (room > 0 and priority < -self._heap[0][0])

    def add(self, priority: float, row: PageRow) -> None:
        heapq.heappush(self._heap, (-priority, -row.order, row))

    def drop_last(self) -> None:
        heapq.heappop(self._heap)

    def best_first(self) -> Iterator[PageRow]:
        for _, _, row in sorted(self._heap, key=lambda item: (-item[0], -item[1])):
            yield row


class _Specials:
    """A fair share of rows for every kind of failure, cut, loop, ...: `room` in all."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kinds: dict[tuple[str, ...], _Kept] = {}
        self._messages: set[str] = set()

    def kinds_of(self, row: ComparedRow) -> set[tuple[str, ...]]:
        kinds: set[tuple[str, ...]] = set()
        for answer in row.answers:
            if not answer.ok:
                kinds.add(("failed", answer.model, self._failure(answer.error or "")))
            kinds.update((flag, answer.model) for flag in _flags(answer))
        return kinds

    def _failure(self, error: str) -> str:
        """Failures are of one kind when code and message agree but for numbers."""
        kind = _DIGITS.sub("#", error[:120])
        if kind in self._messages or len(self._messages) < _KINDS_OF_FAILURE:
            self._messages.add(kind)
            return kind
        code = _CODE.match(error)
        return code[0] if code else "other"

    def wanted(self, kinds: set[tuple[str, ...]], priority: float) -> list[_Kept]:
        if self._room <= 0:
            return []
        full = sum(len(kept) for kept in self._kinds.values()) >= self._room
        found = [self._kinds.setdefault(kind, _Kept()) for kind in sorted(kinds)]
        if not full:
            return found
        fair = max(1, self._room // len(self._kinds))
        return [k for k in found if len(k) < fair or k.wants(priority, len(k))]

    def add(self, wanted: list[_Kept], priority: float, row: PageRow) -> None:
        for kept in wanted:
            kept.add(priority, row)
            while sum(len(k) for k in self._kinds.values()) > self._room:
                max(self._kinds.values(), key=len).drop_last()

    def in_turn(self) -> Iterator[PageRow]:
        """One row of every kind, then a second of every kind, and so on."""
        turns = [kept.best_first() for kept in self._kinds.values()]
        while turns:
            going = []
            for turn in turns:
                row = next(turn, None)
                if row is not None:
                    yield row
                    going.append(turn)
            turns = going


def _flags(answer: ComparedAnswer) -> list[str]:
    flags = {
        "truncated": answer.cut > 0,
        "ran_to_limit": answer.finish == "length",
        "looped": answer.looped,
        "empty": answer.empty,
    }
    return [name for name, is_set in flags.items() if is_set]


def choose_rows(
    rows: Iterable[ComparedRow], limit: int = 2000, seed: int = 0, metric: str | None = None
) -> tuple[list[PageRow], PageChoice]:
    """Chooses at most `limit` rows for the page, in the order of the data set.

    Up to half of them hold every kind of failure, cut, loop, empty answer and answer that ran to
    its limit; up to 30 % are the largest disagreements between models; the rest is a sample drawn
    with `seed`, which depends on row ids only. A run of at most `limit` rows is shown whole. Memory
    depends on `limit`, not on the number or the size of rows.

    Args:
        rows: all rows of the run, read once.
        limit: rows on the page.
        seed: of the sample.
        metric: disagreement is the spread of this score over models; where absent, or where a row
            has no such score, the words that the answers do not share.

    Raises:
        ValueError: `limit` is negative.
    """
    if limit < 0:
        raise ValueError(f"limit is {limit!r}: a page shows 0 or more rows")
    pools = _Pools(limit)
    found: Counter[str] = Counter()
    total = 0
    for row in rows:
        pools.offer(row, total, _draw(seed, row.row), _disagreement(row, metric), found)
        total += 1
    chosen = pools.chosen()
    choice = PageChoice(
        total=total,
        shown=len(chosen),
        limit=limit,
        seed=seed,
        found={kind: found[kind] for kind in sorted(found)},
        kept=count_reasons(chosen),
        metric=metric,
    )
    return chosen, choice


class _Pools:
    """Specials, disagreements and the sample while rows stream by."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._specials = _Specials(limit)
        self._apart = _Kept()
        self._sample = _Kept()

    def offer(
        self, row: ComparedRow, order: int, draw: float, apart: float, found: Counter[str]
    ) -> None:
        kinds = self._specials.kinds_of(row)
        found.update({kind[0] for kind in kinds})
        found.update(["differing"] if apart > 0 else [])
        specials = self._specials.wanted(kinds, draw)
        by_difference = apart > 0 and self._apart.wants(-apart, self._limit)
        by_draw = self._sample.wants(draw, self._limit)
        if not (specials or by_difference or by_draw):
            return
        small = compact(row, order)
        self._specials.add(specials, draw, small)
        for pool, taken, priority in (
            (self._apart, by_difference, -apart),
            (self._sample, by_draw, draw),
        ):
            if taken:
                pool.add(priority, small)
                if len(pool) > self._limit:
                    pool.drop_last()

    def chosen(self) -> list[PageRow]:
        picked: dict[int, PageRow] = {}
        quotas = (
            (self._specials.in_turn(), SPECIAL, (self._limit + 1) // 2),
            (self._apart.best_first(), DISAGREEMENT, self._limit * 8 // 10),
            (self._sample.best_first(), SAMPLE, self._limit),
        )
        for source, rank, room in quotas:
            for row in source:
                if len(picked) >= room:
                    break
                picked.setdefault(row.order, replace(row, rank=rank))
        return [picked[order] for order in sorted(picked)]


def _draw(seed: int, row: str) -> float:
    """A number in [0, 1) that only the seed and the row's id decide."""
    text = f"{seed}\0{row}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=6).digest()) / 2**48


def _disagreement(row: ComparedRow, metric: str | None) -> float:
    spread = score_spread(row.answers, metric) if metric else None
    return text_distance(row.answers) if spread is None else spread
