"""F1 and exact match as the SQuAD evaluation defines them (Rajpurkar et al. 2016, 2018)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

from bakeoff.core.ports import MetricInput, MetricOutput
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import NO_REFERENCE, RowMetric, RowValues, Unscored
from bakeoff.metrics.words import Words

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normal(text: str) -> str:
    """Lower case, no ASCII punctuation, no English articles, single blanks."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


class Squad(RowMetric):
    """Token F1 (`squad_f1`) and exact match (`squad_em`) against the best reference.

    A reference that is empty after normalisation means "there is no answer": both empty is 1, one
    empty is 0. Beside another reference it counts for nothing, as in SQuAD 2.

    Options:
        no_answer: whether a row without any reference means "there is no answer" too, as an empty
            list does in SQuAD 2; else such a row has no value. Default false.
        tokens: `blank` splits at blanks as the evaluation does; `words` takes characters where
            scripts have no blanks. Default blank.
    """

    name: ClassVar[str] = "squad_f1"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("no_answer", "tokens"))
        self._no_answer = given.flag("no_answer")
        self._tokens = given.choice("tokens", "blank", ("blank", "words"))

    def outputs(self) -> tuple[MetricOutput, ...]:
        """F1 and exact match, 0 to 1."""
        return (MetricOutput("squad_f1", graded=True), MetricOutput("squad_em"))

    def row(self, item: MetricInput) -> RowValues:
        """The best of each over the references."""
        references = item.references or (("",) if self._no_answer else ())
        if not references:
            return Unscored(NO_REFERENCE)
        prediction = normal(item.prediction)
        answers = [answer for text in references if (answer := normal(text))] or [""]
        f1 = max(self._f1(answer, prediction) for answer in answers)
        return f1, float(prediction in answers)

    def signature(self) -> str:
        """Normalisation and tokens."""
        empty = "no-answer" if self._no_answer else "unscored"
        return f"refs:best|norm:squad|tok:{self._tokens}|without-reference:{empty}"

    def _f1(self, answer: str, prediction: str) -> float:
        left, right = self._split(answer), self._split(prediction)
        if not left or not right:
            return float(left == right)
        hits = (Counter(left) & Counter(right)).total()
        if hits == 0:
            return 0.0
        precision, recall = hits / len(right), hits / len(left)
        return 2 * precision * recall / (precision + recall)

    def _split(self, text: str) -> list[str]:
        return text.split() if self._tokens == "blank" else Words().tokenize(text)
