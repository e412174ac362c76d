"""chrF and chrF++ by sacrebleu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.ports import MetricOutput
from bakeoff.metrics.options import Options
from bakeoff.metrics.sacre import Combine, SacreMetric, Statistics


@dataclass(frozen=True, slots=True)
class ChrfValue:
    """Summed statistics (predicted, reference, matching n-grams by order) to chrF, 0 to 100.

    Orders that either side is too short for are left out.
    """

    beta: int

    def __call__(self, statistics: Statistics) -> Statistics:
        """Shape (..., 3 * orders) to shape (...)."""
        counts = statistics.reshape(*statistics.shape[:-1], statistics.shape[-1] // 3, 3)
        predicted, reference, matching = counts[..., 0], counts[..., 1], counts[..., 2]
        used = (predicted > 0) & (reference > 0)
        orders = np.maximum(used.sum(axis=-1), 1)
        precision = _sum(matching, predicted, used) / orders
        recall = _sum(matching, reference, used) / orders
        factor = self.beta**2
        below = factor * precision + recall
        value = 100.0 * (1 + factor) * precision * recall / np.where(below > 0, below, 1.0)
        return np.where(below > 0, value, 0.0)


def _sum(matching: Statistics, total: Statistics, used: NDArray[np.bool_]) -> Statistics:
    shares = np.where(used, matching / np.where(used, total, 1.0), 0.0)
    return np.asarray(shares.sum(axis=-1))


class Chrf(SacreMetric):
    """Corpus chrF2 with sentence chrF2 beside each row.

    The corpus value equals sacrebleu's `corpus_chrf`. With several references each row counts the
    one with the highest sentence score, as sacrebleu does.

    Options:
        word_order: word n-grams up to this order too; 2 is chrF++. Default 0.
        char_order: longest character n-gram. Default 6.
        beta: weight of recall. Default 2.
        lowercase: ignore case. Default false.
    """

    name: ClassVar[str] = "chrf"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("word_order", "char_order", "beta", "lowercase"))
        self._word_order = given.whole("word_order", 0, 0, 4)
        self._char_order = given.whole("char_order", 6, 1, 10)
        self._beta = given.whole("beta", 2, 1, 10)
        self._lowercase = given.flag("lowercase")

    def outputs(self) -> tuple[MetricOutput, ...]:
        """Corpus chrF, 0 to 100."""
        return (MetricOutput("chrf", scale=100.0, kind="corpus"),)

    def prepare(self, references: Sequence[str]) -> Any:
        """Sacrebleu's CHRF."""
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(
            char_order=self._char_order,
            word_order=self._word_order,
            beta=self._beta,
            lowercase=self._lowercase,
        )

    def corpus_value(self, scorer: Any) -> Combine:
        """One formula for rows and corpus."""
        return ChrfValue(self._beta)

    def width(self) -> int:
        """Three counts for each order."""
        return 3 * (self._char_order + self._word_order)

    def row_value(self) -> Combine:
        """One formula for rows and corpus."""
        return ChrfValue(self._beta)
