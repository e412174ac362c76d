"""What metrics share: rows to `Scores`, with a reason for every row that has no value."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores

NO_REFERENCE = "no reference"
EMPTY_REFERENCE = "empty reference"
NO_SOURCE = "no source"
NOT_FINITE = "not a finite number"


@dataclass(frozen=True, slots=True)
class Unscored:
    """Why a row has no value."""

    reason: str


RowValues = tuple[float, ...] | Unscored
"""The values of one row, one for each output; or why there are none."""


def failure(error: Exception) -> Unscored:
    """The reason for a row on which a library raised: it costs this row alone."""
    return Unscored(f"{type(error).__name__}: {error}"[:200])


def columns(
    outputs: Sequence[MetricOutput], rows: Sequence[RowValues], signature: str
) -> list[Scores]:
    """One `Scores` an output; values that are not finite become "not measured"."""
    return [_column(output, at, rows, signature) for at, output in enumerate(outputs)]


def _column(output: MetricOutput, at: int, rows: Sequence[RowValues], signature: str) -> Scores:
    values: list[float | None] = []
    reasons: list[str | None] = []
    for row in rows:
        if isinstance(row, Unscored):
            values.append(None)
            reasons.append(row.reason)
        elif math.isfinite(row[at]):
            values.append(float(row[at]))
            reasons.append(None)
        else:
            values.append(None)
            reasons.append(NOT_FINITE)
    return Scores(output, tuple(values), tuple(reasons), signature=signature)


def blank(text: str) -> bool:
    """Whether a text holds nothing but white space and control characters."""
    return not any(c.isprintable() and not c.isspace() for c in text)


def usable_references(item: MetricInput) -> tuple[str, ...] | Unscored:
    """The references that are not blank, or why there are none."""
    if not item.references:
        return Unscored(NO_REFERENCE)
    kept = tuple(text for text in item.references if not blank(text))
    return kept or Unscored(EMPTY_REFERENCE)


class RowMetric(Metric):
    """A metric whose rows are scored one by one and averaged."""

    @abstractmethod
    def row(self, item: MetricInput) -> RowValues:
        """The values of one row."""

    @abstractmethod
    def signature(self) -> str:
        """Settings that make the numbers reproducible."""

    def check(self) -> None:
        """Nothing is needed beyond the base install."""

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """Score row by row; a row that raises is "not measured", with the error as its reason."""
        rows: list[RowValues] = []
        for item in inputs:
            try:
                rows.append(self.row(item))
            except Exception as error:  # any fault in one row is data of that row
                rows.append(failure(error))
        return columns(self.outputs(), rows, self.signature())
