"""ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum, F-measure, for text in any script."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores
from bakeoff.metrics import overlap
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import (
    EMPTY_REFERENCE,
    RowValues,
    Unscored,
    columns,
    usable_references,
)
from bakeoff.metrics.words import SIGNATURE, Words, has_words

VARIANTS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
Sentences = list[list[str]]
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।؟])\s*")


class Rouge(Metric):
    """ROUGE against the best reference.

    With several references each variant takes the reference that gives it the highest F-measure,
    as rouge-score's `score_multi` does. The numbers are those of rouge-score 0.1.2 with the same
    tokenizer: its default one where all text is ASCII, `Words` elsewhere (the two agree on ASCII
    text, so models whose text differs in this stay comparable). ROUGE-Lsum takes lines as
    sentences. A reference without a single word cannot be matched and is left out; a row with
    no other has no value.

    Options:
        use_stemmer: Porter-stem tokens of more than three characters. Default false.
        split_summaries: for ROUGE-Lsum, end sentences also at `.`, `!`, `?` and their kin
            before white space (a rule, no data files). Default false.
    """

    name: ClassVar[str] = "rouge"

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("use_stemmer", "split_summaries"))
        self._stem = given.flag("use_stemmer")
        self._split = given.flag("split_summaries")

    def outputs(self) -> tuple[MetricOutput, ...]:
        """The four variants, 0 to 1."""
        return tuple(MetricOutput(name, graded=True) for name in VARIANTS)

    def check(self) -> None:
        """Everything needed is in the base install."""

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """All four variants of all inputs."""
        ascii_only = all(map(_is_ascii, inputs))
        rows: list[RowValues] = [Unscored(EMPTY_REFERENCE)] * len(inputs)
        pairs: list[tuple[str, str]] = []
        owners: list[int] = []
        for at, item in enumerate(inputs):
            references = usable_references(item)
            if isinstance(references, Unscored):
                rows[at] = references
                continue
            worded = [text for text in references if has_words(text)]
            pairs.extend((text, item.prediction) for text in worded)
            owners.extend([at] * len(worded))
        for at, values in zip(owners, self._score_pairs(pairs, ascii_only), strict=True):
            best = rows[at]
            rows[at] = values if isinstance(best, Unscored) else tuple(map(max, best, values))
        return columns(self.outputs(), rows, self._signature())

    def _score_pairs(
        self, pairs: Sequence[tuple[str, str]], ascii_only: bool
    ) -> Iterable[tuple[float, ...]]:
        if ascii_only and not self._split and importlib.util.find_spec("rouge_score_rs"):
            return _score_native(pairs, self._stem)
        tokenize = _stemmed() if self._stem else Words().tokenize
        sentences = cache(lambda text: self._sentences(text, tokenize))
        return (_score_plain(sentences(target), sentences(text)) for target, text in pairs)

    def _sentences(self, text: str, tokenize: Callable[[str], list[str]]) -> Sentences:
        lines = text.split("\n")
        if self._split:
            lines = [part for line in lines for part in _SENTENCE_END.split(line)]
        return [tokenize(line) for line in lines if line]

    def _signature(self) -> str:
        sentences = "lines+punctuation" if self._split else "lines"
        stem = "porter" if self._stem else "no"
        return (
            f"refs:best|tok:{SIGNATURE},ascii:rouge-score-default|stem:{stem}"
            f"|sentences:{sentences}|like:rouge-score-0.1.2"
        )


def _is_ascii(item: MetricInput) -> bool:
    return item.prediction.isascii() and all(text.isascii() for text in item.references)


def _stemmed() -> Callable[[str], list[str]]:
    """`Words`, then Porter stems of tokens longer than three characters, as rouge-score does."""
    from nltk.stem.porter import PorterStemmer

    stem = cache(PorterStemmer().stem)
    words = Words()
    return lambda text: [stem(w) if len(w) > 3 else w for w in words.tokenize(text)]


def _score_plain(target: Sentences, prediction: Sentences) -> tuple[float, ...]:
    left = [token for sentence in target for token in sentence]
    right = [token for sentence in prediction for token in sentence]
    longest = overlap.lcs_f(left, right)
    # With one sentence a side the union is the one subsequence.
    one_each = len(target) == len(prediction) == 1
    return (
        overlap.ngram_f(left, right, 1),
        overlap.ngram_f(left, right, 2),
        longest,
        longest if one_each else overlap.summary_f(target, prediction),
    )


def _score_native(pairs: Sequence[tuple[str, str]], stem: bool) -> list[tuple[float, ...]]:
    """The same by rouge-score-rs where it is installed; its default tokenizer is for ASCII."""
    from rouge_score_rs.rouge_scorer import RougeScorer

    scorer = RougeScorer(list(VARIANTS), use_stemmer=stem)
    found = scorer.score_batch([target for target, _ in pairs], [text for _, text in pairs])
    return [tuple(float(scores[v].fmeasure) for v in VARIANTS) for scores in found]
