"""Translation edit rate by sacrebleu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bakeoff.core.ports import MetricOutput
from bakeoff.metrics.options import Options
from bakeoff.metrics.sacre import Combine, SacreMetric, Statistics
from bakeoff.metrics.words import writing


@dataclass(frozen=True, slots=True)
class TerValue:
    """Summed edits and reference lengths to TER: edits for each hundred reference words."""

    def __call__(self, statistics: Statistics) -> Statistics:
        """Shape (..., 2) to shape (...)."""
        edits, length = statistics[..., 0], statistics[..., 1]
        rate = edits / np.where(length > 0, length, 1.0)
        return 100.0 * np.where(length > 0, rate, (edits > 0).astype(float))


class Ter(SacreMetric):
    """Corpus TER with sentence TER beside each row; lower is better, 0 is perfect.

    The corpus value equals sacrebleu's `corpus_ter`. With several references each row counts the
    fewest edits and the mean length, as sacrebleu does.

    Options:
        case_sensitive: default false.
        normalized: split off punctuation. Default false, and true where the references are
            mostly Chinese or Japanese, which are then cut into characters.
        no_punct: remove punctuation. Default false.
    """

    name: ClassVar[str] = "ter"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("case_sensitive", "normalized", "no_punct"))
        self._case_sensitive = given.flag("case_sensitive")
        self._normalized = given.flag("normalized") if "normalized" in options else None
        self._no_punct = given.flag("no_punct")

    def outputs(self) -> tuple[MetricOutput, ...]:
        """Corpus TER in percent; may exceed 100."""
        return (MetricOutput("ter", scale=100.0, better="lower", kind="corpus"),)

    def prepare(self, references: Sequence[str]) -> Any:
        """Sacrebleu's TER."""
        from sacrebleu.metrics.ter import TER

        by_character = writing(references) in ("chinese", "japanese")
        return TER(
            case_sensitive=self._case_sensitive,
            normalized=by_character if self._normalized is None else self._normalized,
            no_punct=self._no_punct,
            asian_support=by_character,
        )

    def corpus_value(self, scorer: Any) -> Combine:
        """One formula for rows and corpus."""
        return TerValue()

    def width(self) -> int:
        """Edits and reference length."""
        return 2

    def row_value(self) -> Combine:
        """One formula for rows and corpus."""
        return TerValue()
