"""Exact match."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, ClassVar

from bakeoff.core.ports import MetricInput, MetricOutput
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import NO_REFERENCE, RowMetric, RowValues, Unscored
from bakeoff.metrics.words import composed


class ExactMatch(RowMetric):
    """1 where the prediction equals a reference, else 0.

    Outer white space is left out of it, and texts are compared in Unicode's composed form (NFC).

    Options:
        ignore_case: compare without case. Default false.
        ignore_punctuation: compare without punctuation of any script, runs of white space being
            one blank. Default false.
    """

    name: ClassVar[str] = "exact_match"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("ignore_case", "ignore_punctuation"))
        self._ignore_case = given.flag("ignore_case")
        self._ignore_punctuation = given.flag("ignore_punctuation")

    def outputs(self) -> tuple[MetricOutput, ...]:
        """0 or 1."""
        return (MetricOutput("exact_match"),)

    def row(self, item: MetricInput) -> RowValues:
        """Compare with each reference."""
        if not item.references:
            return Unscored(NO_REFERENCE)
        prediction = self._normal(item.prediction)
        return (float(any(self._normal(text) == prediction for text in item.references)),)

    def signature(self) -> str:
        """What is left out of the comparison."""
        case = "no" if self._ignore_case else "yes"
        punctuation = "no" if self._ignore_punctuation else "yes"
        return f"refs:any|strip:yes|norm:nfc|case:{case}|punct:{punctuation}"

    def _normal(self, text: str) -> str:
        text = composed(text, self._ignore_case)
        if self._ignore_punctuation:
            kept = (c for c in text if not unicodedata.category(c).startswith("P"))
            return " ".join("".join(kept).split())
        return text.strip()
