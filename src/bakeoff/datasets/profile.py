"""`profile`: what is in a data set, column by column, in one pass and bounded memory."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from bakeoff.core.canonical import dumps
from bakeoff.core.ports import Dataset
from bakeoff.core.rows import Notice, Row
from bakeoff.datasets.cells import text_of
from bakeoff.datasets.header import shortened
from bakeoff.datasets.jsonvalues import kind_of
from bakeoff.datasets.problems import SIGNS, signs_in
from bakeoff.datasets.scripts import scripts_of

_EXACT_CELLS = 16_000_000
"""So many cells are compared for repetitions, 8 bytes each; beyond, counts are lower bounds."""

_SAMPLES = 3
_GROUP_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """Something odd in a column.

    Attributes:
        code: stable, kebab-case.
        text: what it is.
        rows: in how many rows.
        first: where it is first: line of the file, or row from 1 where there are no lines.
        unit: `line` or `row`, which `first` counts.
    """

    code: str
    text: str
    rows: int
    first: int
    unit: Literal["line", "row"] = "line"


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """One column. Lengths are in characters, of cells that are not blank; 0 without any.

    Attributes:
        kinds: kind of value (`text`, `number`, ...) to how many cells have it.
        filled: cells that are not blank.
        blank: null, empty, or nothing but blanks.
        distinct: how many different filled cells there are.
        distinct_exact: False where `distinct` is only a lower bound.
        scripts: writing system to how many cells use it for a tenth of their letters or more.
        samples: the first different cells, shortened.
    """

    name: str
    kinds: dict[str, int]
    filled: int
    blank: int
    distinct: int
    distinct_exact: bool
    shortest: int
    median: int
    p95: int
    longest: int
    scripts: dict[str, int]
    samples: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def repeated(self) -> int:
        """Filled cells that some earlier row holds as well; where `distinct` is exact."""
        return self.filled - self.distinct if self.distinct_exact else 0


@dataclass(frozen=True, slots=True)
class DataProfile:
    """A data set.

    Attributes:
        hash: SHA-256 over columns and cells.
        identical_rows: rows that equal an earlier one in every cell.
        repeated: column to how many of its filled cells repeat an earlier one, for long texts.
        groups: columns whose few, short values repeat: rows that may belong together, or labels.
        ids: columns in which every cell is filled and differs.
    """

    name: str
    hash: str
    rows: int
    columns: tuple[ColumnProfile, ...]
    identical_rows: int
    repeated: dict[str, int]
    groups: tuple[str, ...]
    ids: tuple[str, ...]
    notices: tuple[Notice, ...]


@dataclass(slots=True)
class _Column:
    """What is counted while reading."""

    name: str
    kinds: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    scripts: Counter[str] = field(default_factory=Counter)
    signs: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    hashes: array[int] = field(default_factory=lambda: array("q"))
    samples: list[str] = field(default_factory=list)
    blank: int = 0
    has_lines: bool = True

    def add(self, value: Any, row: Row, compare: bool) -> str:
        """Counts one cell and gives it as text."""
        plain = isinstance(value, str)
        text = value if plain else _text(value)
        self.kinds["text" if plain else _kind(value)] += 1
        for sign in signs_in(text) if text else ():
            self.signs[sign.code] += 1
            self.has_lines = row.line is not None
            self.first.setdefault(sign.code, row.index + 1 if row.line is None else row.line)
        if not text.strip():
            self.blank += 1
            return text
        self.lengths[len(text)] += 1
        self.scripts.update(scripts_of(text))
        if compare:
            self.hashes.append(hash(text))
        if len(self.samples) < _SAMPLES and shortened(text) not in self.samples:
            self.samples.append(shortened(text))
        return text


def _kind(value: Any) -> str:
    return kind_of(value).removeprefix("an ").removeprefix("a ")


def _text(value: Any) -> str:
    if isinstance(value, list | dict):
        return dumps(value)
    return text_of(value) or ""


def profile(dataset: Dataset) -> DataProfile:
    """Reads all rows once, and once more for the hash.

    Raises:
        BadDataset: a row cannot be read.
    """
    columns = [_Column(name) for name in dataset.columns]
    most = _EXACT_CELLS // (len(columns) + 1)
    whole_rows = array("q")
    rows = 0
    for row in dataset.rows():
        compare = rows < most
        texts = [
            column.add(value, row, compare)
            for column, value in zip(columns, row.cells.values(), strict=True)
        ]
        if compare:
            whole_rows.append(hash(tuple(texts)))
        rows += 1
    made = tuple(_column(column, exact=rows <= most) for column in columns)
    return DataProfile(
        name=dataset.name,
        hash=dataset.content_hash(),
        rows=rows,
        columns=made,
        identical_rows=len(whole_rows) - _distinct(whole_rows),
        repeated={c.name: c.repeated for c in made if c.repeated and c.median > _GROUP_LENGTH},
        groups=tuple(c.name for c in made if _is_group(c, rows)),
        ids=tuple(c.name for c in made if c.distinct_exact and c.distinct == rows > 1),
        notices=dataset.notices,
    )


def _distinct(hashes: array[int]) -> int:
    return len(np.unique(np.frombuffer(hashes, dtype=np.int64))) if hashes else 0


def _is_group(column: ColumnProfile, rows: int) -> bool:
    few = 2 <= column.distinct <= rows // 2
    return few and column.distinct_exact and column.p95 <= _GROUP_LENGTH and column.blank == 0


def _column(column: _Column, exact: bool) -> ColumnProfile:
    lengths = sorted(column.lengths)
    filled = column.lengths.total()
    return ColumnProfile(
        name=column.name,
        kinds=dict(column.kinds),
        filled=filled,
        blank=column.blank,
        distinct=_distinct(column.hashes),
        distinct_exact=exact,
        shortest=lengths[0] if lengths else 0,
        median=_quantile(column.lengths, lengths, 0.5),
        p95=_quantile(column.lengths, lengths, 0.95),
        longest=lengths[-1] if lengths else 0,
        scripts=dict(column.scripts.most_common()),
        samples=tuple(column.samples),
        problems=tuple(
            Problem(
                code=sign.code,
                text=sign.text,
                rows=column.signs[sign.code],
                first=column.first[sign.code],
                unit="line" if column.has_lines else "row",
            )
            for sign in SIGNS
            if column.signs[sign.code]
        ),
    )


def _quantile(counts: Counter[int], ordered: list[int], share: float) -> int:
    """The smallest length that at least this share of the cells does not exceed."""
    wanted = share * counts.total()
    reached = 0
    for length in ordered:
        reached += counts[length]
        if reached >= wanted:
            return length
    return 0
