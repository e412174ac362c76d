"""METEOR by NLTK, without synonyms, so that nothing is downloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import (
    EMPTY_REFERENCE,
    RowValues,
    Unscored,
    columns,
    failure,
    usable_references,
)
from bakeoff.metrics.words import SIGNATURE, Words


class NoSynonyms:
    """Stands in for WordNet and knows no word."""

    def synsets(self, word: str) -> list[Any]:
        """Always empty."""
        return []


class Stemmer:
    """NLTK's Porter stemmer that remembers its answers."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self.stem = cache(PorterStemmer().stem)


class Meteor(Metric):
    """METEOR against the best reference: exact and Porter-stem matches, no synonyms.

    The numbers are those of `nltk.translate.meteor_score` with a WordNet that knows no word and
    the words of `Words` (lower case, no punctuation). Parameters as published by Lavie and
    Agarwal (2007). A perfect match of m words scores 1 - gamma / m ** beta, so 0.5 for one word.

    Options:
        alpha: weight of precision in the mean. Default 0.9.
        beta: shape of the penalty for scattered matches. Default 3.
        gamma: greatest penalty. Default 0.5.
    """

    name: ClassVar[str] = "meteor"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("alpha", "beta", "gamma"))
        self._parameters = {
            "alpha": given.number("alpha", 0.9, 0.0, 1.0),
            "beta": given.number("beta", 3.0, 0.0, 10.0),
            "gamma": given.number("gamma", 0.5, 0.0, 1.0),
        }

    def outputs(self) -> tuple[MetricOutput, ...]:
        """METEOR, 0 to 1."""
        return (MetricOutput("meteor", graded=True),)

    def check(self) -> None:
        """Everything needed is in the base install."""

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """One value a row."""
        stemmer, wordnet = Stemmer(), NoSynonyms()
        rows: list[RowValues] = []
        for item in inputs:
            try:
                rows.append(self._row(item, stemmer, wordnet))
            except Exception as error:  # any fault in one row is data of that row
                rows.append(failure(error))
        return columns(self.outputs(), rows, self._signature())

    def _row(self, item: MetricInput, stemmer: Stemmer, wordnet: NoSynonyms) -> RowValues:
        from nltk.translate.meteor_score import meteor_score

        references = usable_references(item)
        if isinstance(references, Unscored):
            return references
        tokenize = Words().tokenize
        tokens = [words for words in map(tokenize, references) if words]
        if not tokens:
            return Unscored(EMPTY_REFERENCE)
        hypothesis = tokenize(item.prediction)
        value = meteor_score(
            tokens, hypothesis, stemmer=stemmer, wordnet=wordnet, **self._parameters
        )
        return (float(value),)

    def _signature(self) -> str:
        from nltk import __version__

        settings = "|".join(f"{name}:{value:g}" for name, value in self._parameters.items())
        matches = "match:exact+porter,no-synonyms"
        return f"refs:best|tok:{SIGNATURE}|{matches}|{settings}|nltk:{__version__}"
