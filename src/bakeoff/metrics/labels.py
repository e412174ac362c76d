"""Accuracy and macro-averaged F1 over labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import NO_REFERENCE, RowMetric, RowValues, Unscored


def label(text: str, ignore_case: bool) -> str:
    """A label as it is compared: outer white space gone, without case where asked."""
    return text.strip().casefold() if ignore_case else text.strip()


class Accuracy(RowMetric):
    """1 where the label equals a reference, else 0; outer white space is left out of it.

    Options:
        ignore_case: compare without case. Default false.
    """

    name: ClassVar[str] = "accuracy"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        self._ignore_case = Options(self.name, options, ("ignore_case",)).flag("ignore_case")

    def outputs(self) -> tuple[MetricOutput, ...]:
        """Share of right labels, 0 to 1."""
        return (MetricOutput("accuracy"),)

    def row(self, item: MetricInput) -> RowValues:
        """Compare with each reference."""
        if not item.references:
            return Unscored(NO_REFERENCE)
        said = label(item.prediction, self._ignore_case)
        return (float(said in {label(text, self._ignore_case) for text in item.references}),)

    def signature(self) -> str:
        """How labels are compared."""
        return f"refs:any|strip:yes|case:{'no' if self._ignore_case else 'yes'}"


@dataclass(frozen=True, slots=True)
class MacroF1Value:
    """Summed counts to the mean F1 over labels.

    Attributes:
        labels: in the order of the counts: right, predicted and true, for each label.
        fixed: whether labels that neither side uses count as 0 (else they are left out).
    """

    labels: tuple[str, ...]
    fixed: bool = False

    def __call__(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shape (..., 3 * labels) to shape (...)."""
        counts = statistics.reshape(*statistics.shape[:-1], len(self.labels), 3)
        total = counts[..., 1] + counts[..., 2]
        seen = total > 0
        f1 = np.where(seen, 2 * counts[..., 0] / np.where(seen, total, 1.0), 0.0)
        used = np.full(seen.shape[:-1], len(self.labels)) if self.fixed else seen.sum(axis=-1)
        mean: NDArray[np.float64] = f1.sum(axis=-1) / np.maximum(used, 1)
        return mean


class MacroF1(Metric):
    """F1 of each label, averaged without regard to how frequent it is.

    Equals scikit-learn's `f1_score(average="macro", zero_division=0)`: over all labels that occur
    as a reference or as a prediction, or over `labels`. Where a row has several references, the
    predicted one counts if it is among them, else the first. Per row the value is 1 for the right
    label and 0 for a wrong one.

    Options:
        labels: the labels to average over. Default: those that occur.
        ignore_case: compare without case. Default false.
    """

    name: ClassVar[str] = "macro_f1"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("labels", "ignore_case"))
        self._ignore_case = given.flag("ignore_case")
        self._labels = tuple(label(text, self._ignore_case) for text in given.texts("labels"))

    def outputs(self) -> tuple[MetricOutput, ...]:
        """Macro-averaged F1, 0 to 1."""
        return (MetricOutput("macro_f1", kind="corpus"),)

    def check(self) -> None:
        """Everything needed is in the base install."""

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """Counts for each label and row."""
        pairs = [self._pair(item) for item in inputs]
        found = {text for pair in pairs if pair is not None for text in pair}
        labels = self._labels or tuple(sorted(found))
        place = {text: at for at, text in enumerate(labels)}
        counts = np.zeros((len(pairs), len(labels), 3))
        for at, pair in enumerate(pairs):
            if pair is not None:
                _count(counts[at], place, *pair)
        return [
            Scores(
                self.outputs()[0],
                tuple(None if pair is None else float(pair[0] == pair[1]) for pair in pairs),
                tuple(NO_REFERENCE if pair is None else None for pair in pairs),
                statistics=counts.reshape(len(pairs), 3 * len(labels)),
                combine=MacroF1Value(labels, fixed=bool(self._labels)),
                signature=self._signature(),
            )
        ]

    def _pair(self, item: MetricInput) -> tuple[str, str] | None:
        """Predicted and true label, or None without a reference."""
        if not item.references:
            return None
        said = label(item.prediction, self._ignore_case)
        true = [label(text, self._ignore_case) for text in item.references]
        return said, said if said in true else true[0]

    def _signature(self) -> str:
        over = "given" if self._labels else "seen"
        case = "no" if self._ignore_case else "yes"
        return f"labels:{over}|strip:yes|case:{case}|zero-division:0|rows:right-or-wrong"


def _count(counts: NDArray[np.float64], place: Mapping[str, int], said: str, true: str) -> None:
    if said == true and said in place:
        counts[place[said], 0] += 1
    if said in place:
        counts[place[said], 1] += 1
    if true in place:
        counts[place[true], 2] += 1
