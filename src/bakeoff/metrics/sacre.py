"""What BLEU, chrF and TER share: sacrebleu's statistics per row, summed for the corpus value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.ports import Metric, MetricInput, Scores
from bakeoff.metrics.rowwise import Unscored, failure, usable_references

Statistics = NDArray[np.float64]
Combine = Callable[[Statistics], Statistics]


class SacreMetric(Metric):
    """A corpus metric of sacrebleu.

    The value of the output is the corpus score, from statistics summed over rows; the per-row
    values beside it are sentence scores with effective order, and the signature says so. Blank
    references are left out; a row with no other has no value.
    """

    @abstractmethod
    def prepare(self, references: Sequence[str]) -> Any:
        """The sacrebleu object for these references (all rows together)."""

    @abstractmethod
    def corpus_value(self, scorer: Any) -> Combine:
        """Summed statistics to the corpus value; equal settings give equal objects."""

    @abstractmethod
    def width(self) -> int:
        """Number of statistics a row."""

    @abstractmethod
    def row_value(self) -> Combine:
        """Statistics of one row to its sentence score."""

    def statistics(self, scorer: Any, prediction: str, references: Sequence[str]) -> Any:
        """Sufficient statistics of one row, as sacrebleu sums them."""
        return scorer._extract_corpus_statistics([prediction], [[text] for text in references])[0]

    def check(self) -> None:
        """Everything needed is in the base install."""

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """The corpus value's statistics, and a sentence score for each row."""
        usable = [usable_references(item) for item in inputs]
        texts = [text for kept in usable if not isinstance(kept, Unscored) for text in kept]
        scorer = self.prepare(texts)
        rows: list[Any] = []
        for item, references in zip(inputs, usable, strict=True):
            if isinstance(references, Unscored):
                rows.append(references)
                continue
            try:
                rows.append(self.statistics(scorer, item.prediction, references))
            except Exception as error:  # any fault in one row is data of that row
                rows.append(failure(error))
        scorer.num_refs = _reference_count(usable)
        return [self._scores(rows, scorer)]

    def _scores(self, rows: Sequence[Any], scorer: Any) -> Scores:
        table = np.zeros((len(rows), self.width()))
        for at, row in enumerate(rows):
            if not isinstance(row, Unscored):
                table[at] = row
        by_row = self.row_value()(table)
        return Scores(
            self.outputs()[0],
            tuple(
                None if isinstance(row, Unscored) else float(value)
                for row, value in zip(rows, by_row, strict=True)
            ),
            tuple(row.reason if isinstance(row, Unscored) else None for row in rows),
            statistics=table,
            combine=self.corpus_value(scorer),
            signature=f"{scorer.get_signature()}|rows:sentence-score,eff:yes",
        )


def _reference_count(usable: Sequence[tuple[str, ...] | Unscored]) -> int:
    """Number of references a row, or -1 where it varies, as sacrebleu counts it."""
    counts = {len(kept) for kept in usable if not isinstance(kept, Unscored)}
    return counts.pop() if len(counts) == 1 else -1
