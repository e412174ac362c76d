"""BLEU by sacrebleu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bakeoff.core.ports import MetricOutput
from bakeoff.metrics.options import Options
from bakeoff.metrics.sacre import Combine, SacreMetric, Statistics
from bakeoff.metrics.words import writing

ORDER = 4
TOKENIZERS = ("auto", "13a", "intl", "zh", "char", "none")
_BY_WRITING = {"spaced": "13a", "chinese": "zh", "japanese": "char", "unspaced": "char"}


@dataclass(frozen=True, slots=True)
class BleuValue:
    """Summed statistics (lengths, then matches and totals by order) to BLEU, 0 to 100.

    Smoothing `exp` of sacrebleu: the k-th order without a match counts half of the one before.
    With effective order, orders for which the prediction is too short are left out.
    """

    effective_order: bool

    def __call__(self, statistics: Statistics) -> Statistics:
        """Shape (..., 10) to shape (...)."""
        system, reference = statistics[..., 0], statistics[..., 1]
        matches, totals = statistics[..., 2 : 2 + ORDER], statistics[..., 2 + ORDER :]
        present = np.cumprod(totals > 0, axis=-1).astype(bool)
        missed = present & (matches == 0)
        halvings = np.cumsum(missed, axis=-1)
        numerator = np.where(missed, 0.5**halvings, matches)
        precision = 100.0 * numerator / np.where(present, totals, 1.0)
        logs = np.where(present, np.log(np.where(present, precision, 1.0)), 0.0).sum(axis=-1)
        orders = present.sum(axis=-1)
        whole = orders > 0 if self.effective_order else orders == ORDER
        short = np.where(system > 0, 1.0 - reference / np.where(system > 0, system, 1.0), 0.0)
        penalty = np.where(system < reference, np.exp(short), 1.0)
        # The mean of logarithms may end just above 100.
        value = np.minimum(100.0, penalty * np.exp(logs / np.where(whole, orders, 1)))
        return np.where(whole & matches.any(axis=-1) & (system > 0), value, 0.0)


class Bleu(SacreMetric):
    """Corpus BLEU with sentence BLEU beside each row.

    The corpus value equals sacrebleu's `corpus_bleu`. Standard BLEU is 0 by construction where no
    text has four tokens, so where no *reference* has four tokens effective order is used (the
    same for every model, and `eff:yes` in the signature): a perfect two-word corpus gets 100.

    Options:
        tokenize: auto, 13a, intl, zh, char or none. auto takes 13a, for references mostly in
            Chinese zh, and char for Japanese, Thai, Lao, Khmer and Burmese. Default auto.
        lowercase: ignore case. Default false.
    """

    name: ClassVar[str] = "bleu"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("tokenize", "lowercase"))
        self._tokenize = given.choice("tokenize", "auto", TOKENIZERS)
        self._lowercase = given.flag("lowercase")

    def outputs(self) -> tuple[MetricOutput, ...]:
        """Corpus BLEU, 0 to 100."""
        return (MetricOutput("bleu", scale=100.0, kind="corpus"),)

    def prepare(self, references: Sequence[str]) -> Any:
        """Sacrebleu's BLEU with the tokenizer for these references."""
        from sacrebleu.metrics.bleu import BLEU

        tokenize = self._tokenize
        if tokenize == "auto":
            tokenize = _BY_WRITING[writing(references)]
        scorer = BLEU(lowercase=self._lowercase, tokenize=tokenize, force=True)
        scorer.effective_order = not _any_has_four_tokens(scorer, references)
        return scorer

    def corpus_value(self, scorer: Any) -> Combine:
        """BLEU with the effective order that the references settled."""
        return BleuValue(scorer.effective_order)

    def width(self) -> int:
        """Both lengths; matches and totals of each order."""
        return 2 + 2 * ORDER

    def row_value(self) -> Combine:
        """Sentence BLEU."""
        return BleuValue(effective_order=True)


def _any_has_four_tokens(scorer: Any, references: Sequence[str]) -> bool:
    return any(len(scorer._preprocess_segment(text).split()) >= ORDER for text in references)
