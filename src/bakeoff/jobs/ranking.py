"""The order of models by one metric, where they need not have answered the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.report import Warning
from bakeoff.stats.normal import rounded
from bakeoff.stats.paired import Side

Better = Literal["higher", "lower"] | None


def comparable(
    metric: str, own: Mapping[str, float | None], sides: Sequence[Side]
) -> tuple[Mapping[str, float | None], tuple[Warning, ...]]:
    """Values that models can be ranked by: over the rows that all have, where there are any."""
    if not sides:
        return own, ()
    measured = ~np.isnan(np.stack([side.values for side in sides]))
    shared: NDArray[np.bool_] = np.all(measured, axis=0)
    rows = int(shared.sum())
    if (measured == shared).all():
        return own, ()
    if not rows:
        text = f"no row has {metric} of every model: the ranking compares values of different rows"
        return own, (Warning(code="no-shared-rows", text=text),)
    text = (
        f"ranked on the {rows} {'row' if rows == 1 else 'rows'} that all models have; each value "
        "in the table rests on the model's own rows, each pair on the rows of both"
    )
    found = {**own, **{side.model: _value_on(side, shared) for side in sides}}
    return found, (Warning(code="ranked-on-shared-rows", text=text, rows=rows),)


def _value_on(side: Side, rows: NDArray[np.bool_]) -> float:
    if side.statistics is not None and side.combine is not None:
        return rounded(float(side.combine(side.statistics[rows].sum(axis=0))))
    return rounded(float(side.values[rows].mean()))


@dataclass(frozen=True)
class Beside:
    """A model that was asked fewer rows, and those that it is put among.

    Attributes:
        side: its scores.
        others: theirs, best first.
    """

    side: Side
    others: Mapping[str, Side]

    @property
    def rows(self) -> NDArray[np.bool_]:
        """The rows that all of them have."""
        sides = [self.side, *self.others.values()]
        found: NDArray[np.bool_] = np.all(~np.isnan(np.stack([s.values for s in sides])), axis=0)
        return found

    def warning(self) -> Warning:
        """What its place rests on."""
        rows = int(self.rows.sum())
        said = f"{rows} {'row' if rows == 1 else 'rows'}"
        text = f"{self.side.model} was asked fewer rows: its place rests on {said} alone"
        return Warning(code="placed-by-few-rows", text=text, rows=rows)


def placed(ranking: tuple[str, ...], beside: Beside, better: Better) -> tuple[str, ...]:
    """The ranking with one more model: before the first that it beats on the rows of all.

    It stands behind all others that have a value where it beats none, or shares no row.
    """
    rows = beside.rows
    values = {}
    if rows.any():
        values = {m: _value_on(side, rows) for m, side in beside.others.items()}
        own = _value_on(beside.side, rows)
    sign = -1.0 if better == "lower" else 1.0
    valued = [m for m in ranking if m in beside.others]
    beaten = (at for at, m in enumerate(valued) if values and sign * own > sign * values[m])
    at = next(beaten, len(valued))
    return (*ranking[:at], beside.side.model, *ranking[at:])


def rank(values: Mapping[str, float | None], better: Better) -> tuple[str, ...]:
    """Keys, best first; without a value last; equals in the order given."""

    def place(key: str) -> tuple[bool, float]:
        value = values[key]
        if value is None:
            return (True, 0.0)
        return (False, value if better == "lower" else -value)

    return tuple(sorted(values, key=place))
