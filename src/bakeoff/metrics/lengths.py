"""How long predictions are, and how long against their source. No reference is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bakeoff.core.ports import Metric, MetricInput, MetricOutput, Scores
from bakeoff.metrics.options import Options
from bakeoff.metrics.rowwise import NO_SOURCE, RowMetric, RowValues, Unscored, columns
from bakeoff.metrics.words import SIGNATURE, Words

NO_COUNT = "no token count"


class Length(Metric):
    """Characters, words and tokens of a prediction.

    Words are those of `Words` (characters where scripts have no blanks). Tokens are the model's
    own, end marker included, as counted during generation; None where it did not count any.
    """

    name: ClassVar[str] = "length"
    needs_reference: ClassVar[bool] = False

    def __init__(self, options: Mapping[str, Any]) -> None:
        """There are no options."""
        Options(self.name, options, ())

    def outputs(self) -> tuple[MetricOutput, ...]:
        """Three open scales, none of which is better at either end."""
        return tuple(
            MetricOutput(f"length_{unit}", scale=None, better=None, unit=unit)
            for unit in ("characters", "words", "tokens")
        )

    def check(self) -> None:
        """Everything needed is in the base install."""

    def score(self, inputs: Sequence[MetricInput]) -> list[Scores]:
        """Lengths of all predictions."""
        *texts, tokens = self.outputs()
        tokenize = Words().tokenize
        measured: list[RowValues] = [
            (float(len(item.prediction)), float(len(tokenize(item.prediction)))) for item in inputs
        ]
        counted = [_tokens(item) for item in inputs]
        return [
            *columns(texts, measured, f"tok:{SIGNATURE}"),
            *columns([tokens], counted, "tok:model"),
        ]


def _tokens(item: MetricInput) -> RowValues:
    count = item.extra.get("completion_tokens")
    return Unscored(NO_COUNT) if count is None else (float(count),)


class Compression(RowMetric):
    """Length of the prediction divided by the length of its source.

    Options:
        unit: characters or words. Default characters.
    """

    name: ClassVar[str] = "compression"
    needs_reference: ClassVar[bool] = False

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Read the options; see the class."""
        given = Options(self.name, options, ("unit",))
        self._unit = given.choice("unit", "characters", ("characters", "words"))

    def outputs(self) -> tuple[MetricOutput, ...]:
        """A ratio; below 1 the prediction is the shorter one."""
        return (MetricOutput("compression", scale=None, better=None, unit="of source"),)

    def row(self, item: MetricInput) -> RowValues:
        """The ratio, where there is a source."""
        source = self._length(item.source or "")
        if source == 0:
            return Unscored(NO_SOURCE)
        return (self._length(item.prediction) / source,)

    def signature(self) -> str:
        """The unit."""
        return f"unit:{self._unit}" + (f"|tok:{SIGNATURE}" if self._unit == "words" else "")

    def _length(self, text: str) -> int:
        return len(text.strip()) if self._unit == "characters" else len(Words().tokenize(text))
