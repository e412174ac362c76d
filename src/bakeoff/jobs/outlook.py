"""What a model still has to do: rows without a settled answer, and why they have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bakeoff.core.keys import what_changed
from bakeoff.jobs.asking import AskedWith, Settings, asked_earlier, asked_otherwise
from bakeoff.jobs.contender import Contender
from bakeoff.jobs.plan import PlannedRow, RowSet, plan_row
from bakeoff.store.files.journal import JournalIndex

FIRST = 20
"""So many ids of rows that need work are named in the log."""
LOOKED_AT = 1000
"""So many rows that were finished before are held against what they were asked then."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a model still has to do.

    Attributes:
        total: rows times repeats.
        todo: keys without a settled row, each counted once.
        reused: rows and repeats that an earlier attempt settled.
        why: why rows of an earlier attempt do not count, in words.
        places: which rows of the data set need work, by `TaskRow.index`: later passes skip the
            others without asking what they ask.
        first: ids of the first rows that need work; where some changed, of those.
    """

    total: int
    todo: int
    reused: int
    why: tuple[str, ...]
    places: RowSet
    first: tuple[str, ...]


def outlook(
    contender: Contender, rows: Iterator[PlannedRow], index: JournalIndex, asked: AskedWith
) -> Outlook:
    """Count without keeping the rows; `asked` is what they are asked with."""
    total = reused = 0
    missing: set[bytes] = set()
    places = RowSet()
    first: dict[str, None] = {}
    earlier = _Earlier(contender, index, asked)
    for planned in rows:
        total += 1
        if index.settled(planned.key):
            reused += 1
            continue
        missing.add(bytes.fromhex(planned.key[:32]))
        places.add(planned.row.index)
        if len(first) < FIRST:
            first[planned.row.id] = None
        earlier.look_at(planned)
    why = _why(contender, index, bool(missing)) or earlier.why()
    named = tuple(earlier.changed)[:FIRST] or tuple(first)
    return Outlook(total, len(missing), reused, why, places, named)


@dataclass(slots=True)
class _Earlier:
    """What missing rows were asked when they were finished, and whether their cells are the same.

    Attributes:
        changed: ids of rows that were finished under the same model settings.
        before: the settings under which they were; where the ones of now are among a row's, these.
        cells: whether a row's cells changed besides its settings.
    """

    contender: Contender
    index: JournalIndex
    asked: AskedWith
    changed: dict[str, None] = field(default_factory=dict)
    before: list[Settings] = field(default_factory=list)
    cells: bool = False
    _as_then: dict[str, Contender | None] = field(default_factory=dict)

    def look_at(self, planned: PlannedRow) -> None:
        """Take in a row that needs work."""
        if len(self.changed) >= LOOKED_AT:
            return
        values, row = self.asked.values, planned.row
        settings = self.index.asked(self.contender.parts.values, row.id, planned.repeat)
        if not settings:
            return
        self.changed[row.id] = None
        told = [values] if values in settings else settings
        self.before += [one for one in told if one not in self.before]
        if values not in settings and not self.cells:
            self.cells = all(self._other_cells(planned, one) for one in settings)

    def why(self) -> tuple[str, ...]:
        """In words; nothing where no such row was finished before."""
        if not self.changed:
            return ()
        return asked_otherwise(self.asked.values, self.before, self.cells)

    def _other_cells(self, planned: PlannedRow, settings: Settings) -> bool:
        """Whether the row, asked as it was then, surely is none of those that were finished."""
        name = repr(settings)
        if name not in self._as_then:
            self._as_then[name] = asked_earlier(self.contender, self.asked, settings)
        then = self._as_then[name]
        if then is None:
            return False
        same = list(plan_row(then, planned.row, planned.repeat + 1))[-1]
        return not self.index.settled(same.key)


def _why(contender: Contender, index: JournalIndex, missing: bool) -> tuple[str, ...]:
    """What differs from the nearest settings that the journal knows."""
    if not missing or not index.parts:
        return ()
    new = contender.parts.values
    nearest = min((what_changed(old, new) for old in index.parts.values()), key=len)
    return tuple(nearest)
