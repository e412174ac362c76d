"""Accuracy and macro-averaged F1 over labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores
from bakeoff.core.rows import Notice
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import NO_REFERENCE, RowMetric, RowValues, Unscored
from bakeoff.metrics.words import composed


def label(text: str, ignore_case: bool) -> str:
    """A label as it is compared: NFC, outer white space gone, without case where asked."""
    return composed(text, ignore_case).strip()


class Accuracy(RowMetric):
    """1 where the label equals a reference, else 0.

    Outer white space is left out of it, and labels are compared in Unicode's composed form (NFC).

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
        return f"refs:any|strip:yes|norm:nfc|case:{'no' if self._ignore_case else 'yes'}"


OWN = 50
"""Answers that are no reference and count as labels of their own; further ones share one."""


@dataclass(frozen=True, slots=True)
class MacroF1Value:
    """Summed counts to the mean F1 over labels.

    Attributes:
        labels: in the order of the counts: right, predicted and true, for each label.
        fixed: whether labels that neither side uses count as 0 (else they are left out).
        others: labels that are predicted and never true, behind these: one count each.
    """

    labels: tuple[str, ...]
    fixed: bool = False
    others: int = 0

    def __call__(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shape (..., 3 * labels + others) to shape (...)."""
        size = 3 * len(self.labels)
        counts = statistics[..., :size].reshape(*statistics.shape[:-1], len(self.labels), 3)
        total = counts[..., 1] + counts[..., 2]
        seen = total > 0
        f1 = np.where(seen, 2 * counts[..., 0] / np.where(seen, total, 1.0), 0.0)
        used = np.full(seen.shape[:-1], len(self.labels)) if self.fixed else seen.sum(axis=-1)
        used = used + (statistics[..., size:] > 0).sum(axis=-1)  # their F1 is 0
        mean: NDArray[np.float64] = f1.sum(axis=-1) / np.maximum(used, 1)
        return mean


class MacroF1(Metric):
    """F1 of each label, averaged without regard to how frequent it is.

    Equals scikit-learn's `f1_score(average="macro", zero_division=0)`: over all labels that occur
    as a reference or as a prediction, or over `labels`. Where a row has several references, the
    predicted one counts if it is among them, else the first. Per row the value is 1 for the right
    label and 0 for a wrong one.

    Answers that are no reference of any row have an F1 of 0. The 50 most frequent of them count as
    labels of their own, as in scikit-learn; further ones count as one label together, and a notice
    says so: free text, where nearly every answer is another "label", neither fills the memory nor
    drives the mean to 0.

    Options:
        labels: the labels to average over, each once. Default: those that occur.
        ignore_case: compare without case. Default false.
    """

    name: ClassVar[str] = "macro_f1"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("labels", "ignore_case"))
        self._ignore_case = given.flag("ignore_case")
        self._labels = _distinct(given.texts("labels"), self._ignore_case)

    def outputs(self) -> tuple[MetricOutput, ...]:
        """Macro-averaged F1, 0 to 1."""
        return (MetricOutput("macro_f1", kind="corpus"),)

    def check(self) -> None:
        """Everything needed is in the base install."""

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """Counts for each label and row."""
        pairs = [self._pair(item) for item in inputs]
        labels = self._labels or tuple(sorted({pair[1] for pair in pairs if pair is not None}))
        others = {} if self._labels else _others(pairs, frozenset(labels))
        size = max(others.values(), default=-1) + 1
        place = {text: 3 * at for at, text in enumerate(labels)}
        counts = np.zeros((len(pairs), 3 * len(labels) + size))
        for at, pair in enumerate(pairs):
            if pair is None:
                continue
            if pair[0] in others:
                counts[at, 3 * len(labels) + others[pair[0]]] = 1
            _count(counts[at], place, *pair)
        pooled = sum(column == OWN for column in others.values())
        return [
            Scores(
                self.outputs()[0],
                tuple(None if pair is None else float(pair[0] == pair[1]) for pair in pairs),
                tuple(NO_REFERENCE if pair is None else None for pair in pairs),
                statistics=counts,
                combine=MacroF1Value(labels, fixed=bool(self._labels), others=size),
                signature=self._signature() + ("|others:pooled" if pooled > 1 else ""),
                notices=_notices(pooled),
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
        return f"labels:{over}|strip:yes|norm:nfc|case:{case}|zero-division:0|rows:right-or-wrong"


def _distinct(labels: Sequence[str], ignore_case: bool) -> tuple[str, ...]:
    """The labels as they are compared.

    Raises:
        InvalidSpec: one is there twice, and would count twice in the mean.
    """
    found: dict[str, str] = {}
    for text in labels:
        compared = label(text, ignore_case)
        if compared in found:
            other = found[compared]
            twice = f"{text!r} twice" if text == other else f"{other!r} and {text!r}, one label"
            raise InvalidSpec(
                f"metric 'macro_f1': option 'labels' names {twice}; give each label once"
            )
        found[compared] = text
    return tuple(found)


def _count(counts: NDArray[np.float64], place: Mapping[str, int], said: str, true: str) -> None:
    if said == true and said in place:
        counts[place[said]] += 1
    if said in place:
        counts[place[said] + 1] += 1
    if true in place:
        counts[place[true] + 2] += 1


def _others(pairs: Sequence[tuple[str, str] | None], labels: frozenset[str]) -> dict[str, int]:
    """Answers that are no label, each with its column; the rare ones share column `OWN`."""
    said = Counter(pair[0] for pair in pairs if pair is not None and pair[0] not in labels)
    # By text where equally frequent: the order of rows or models must not matter.
    order = sorted(said, key=lambda text: (-said[text], text))
    return {text: min(at, OWN) for at, text in enumerate(order)}


def _notices(pooled: int) -> tuple[Notice, ...]:
    if pooled < 2:
        return ()
    text = (
        f"macro_f1: {pooled:,} different answers that are no reference count as one label, beside "
        f"{OWN} more frequent ones"
    )
    return (Notice("labels-pooled", text),)
