"""The run's one sentence: better, not worse, or cannot tell. Pure: pairs in, verdict out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bakeoff.core.report import Pair, Verdict
from bakeoff.stats.apart import FEWEST, enough, told_apart
from bakeoff.stats.planning import about

__all__ = ["Decided", "Question", "decide", "ordered", "tiers", "told_apart"]


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be decided.

    Attributes:
        metric: name of the output.
        better: which direction is better.
        scale: value of a perfect score, or None for open scales.
        margin: in points, hundredths of the scale; where there is no scale, in the metric's unit.
        baseline: the model that others are held against, or None.
        unit: of an open scale, for example `tokens`.
    """

    metric: str
    better: Literal["higher", "lower"] = "higher"
    scale: float | None = 1.0
    margin: float = 0.0
    baseline: str | None = None
    unit: str = ""

    @property
    def point(self) -> float:
        """One point in the metric's own units."""
        return 1.0 if self.scale is None else self.scale / 100.0


@dataclass(frozen=True, slots=True)
class Decided:
    """Verdict, tiers, and the order that they agree with.

    Attributes:
        verdict: None for fewer than two models with a value.
        tiers: model ids; see `tiers`.
        ranking: model ids, best first; see `ordered`.
    """

    verdict: Verdict | None
    tiers: tuple[tuple[str, ...], ...]
    ranking: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gain:
    """How much better one model is than another, positive for better, in points.

    Attributes:
        value, low, high: difference and its 95 % interval.
        apart: whether the two are told apart.
        more: further rows until a difference of the margin can be told.
        enough: whether the rows suffice to decide anything.
    """

    value: float
    low: float | None
    high: float | None
    apart: bool
    more: int | None
    enough: bool = True


def ordered(
    pairs: Sequence[Pair], ranking: Sequence[str], better: Literal["higher", "lower"]
) -> tuple[str, ...]:
    """The ranking, in which no model stands before one that is told to be better than it.

    A pair may rest on more rows than the ranking, and then knows better. Pairs that contradict one
    another in a circle leave the ranking as it is.
    """
    sign = 1.0 if better == "higher" else -1.0
    ahead = {
        (pair.a, pair.b) if pair.difference * sign > 0 else (pair.b, pair.a)
        for pair in pairs
        if pair.difference and told_apart(pair)
    }
    left, found = list(ranking), []
    while left:
        unbeaten = (m for m in left if not any((other, m) in ahead for other in left))
        found.append(next(unbeaten, left[0]))
        left.remove(found[-1])
    return tuple(found)


def tiers(pairs: Sequence[Pair], ranking: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Models in groups instead of ranks.

    A tier is the best model that is left and every other one left that cannot be told apart from
    it; a pair that was not compared is not told apart.

    Args:
        pairs: of the deciding metric.
        ranking: best first, as `ordered` gives it: who is told apart from the best is behind it.
    """
    apart = {frozenset((pair.a, pair.b)) for pair in pairs if told_apart(pair)}
    left, found = list(ranking), []
    while left:
        best = left[0]
        tier = tuple(m for m in left if m == best or frozenset((best, m)) not in apart)
        found.append(tier)
        left = [m for m in left if m not in tier]
    return tuple(found)


def decide(pairs: Sequence[Pair], ranking: Sequence[str], question: Question) -> Decided:
    """Verdict, tiers and order.

    With a baseline, the best other model is held against it; without one, the best model against
    the rest. Then

    - `better`: one is told apart from the other (from all others without a baseline);
    - `not-worse`: not told apart, and with 95 % confidence worse by less than the margin (without
      a baseline: each model that cannot be told apart from the best);
    - `cannot-tell`: else, with the number of further rows that would settle it; always where
      fewer than 10 independent rows were compared.

    Args:
        pairs: of the deciding metric, in either order of models.
        ranking: models with a value, best first; where a pair contradicts it, the pair holds.
        question: what is asked.
    """
    order = ordered(pairs, ranking, question.better)
    found = tiers(pairs, order)
    if len(order) < 2:
        return Decided(None, found, order)
    gains = _Gains(pairs, question)
    if question.baseline is not None and question.baseline in order:
        return Decided(_against(question.baseline, order, gains), found, order)
    return Decided(_of_all(order, gains), found, order)


class _Gains:
    """Looks pairs up in either order, with the sign that means "better"."""

    def __init__(self, pairs: Sequence[Pair], question: Question) -> None:
        self.question = question
        self._pairs = {(pair.a, pair.b): pair for pair in pairs if pair.difference is not None}

    def of(self, a: str, b: str) -> Gain | None:
        """How much better a is than b; None where they were not compared."""
        pair = self._pairs.get((a, b)) or self._pairs.get((b, a))
        if pair is None or pair.difference is None:
            return None
        sign = 1.0 if (pair.a == a) == (self.question.better == "higher") else -1.0
        scale = sign / self.question.point
        ends = [None if end is None else end * scale for end in (pair.low, pair.high)]
        low, high = ends if sign > 0 else reversed(ends)
        apart, more = told_apart(pair), pair.rows_to_settle
        return Gain(pair.difference * scale, low, high, apart, more, enough(pair))

    def verdict(self, kind: Literal["better", "cannot-tell", "not-worse"], text: str) -> Verdict:
        return Verdict(
            kind=kind,
            sentence=text,
            metric=self.question.metric,
            margin=self.question.margin,
        )

    def amount(self, value: float) -> str:
        """`4.1 points of rougeL`."""
        return f"{_figure(value)} {self._noun(value)}"

    def _noun(self, value: float) -> str:
        question = self.question
        if question.scale is None:
            return f"{question.unit} of {question.metric}".lstrip(" ").removeprefix("of ")
        points = "point" if _figure(value) == "1" else "points"
        return f"{points} of {question.metric}"

    def span(self, gain: Gain) -> str:
        """` (1.2 to 7.0)`, or nothing without an interval."""
        if gain.low is None or gain.high is None or gain.low == gain.high:
            return ""
        return f" ({_figure(gain.low)} to {_figure(gain.high)})"


def _against(baseline: str, ranking: Sequence[str], gains: _Gains) -> Verdict:
    rival = next(model for model in ranking if model != baseline)
    gain = gains.of(rival, baseline)
    if gain is not None and gain.apart:
        if gain.value > 0:
            return gains.verdict("better", _better(rival, baseline, gain, gains))
        back = gains.of(baseline, rival) or gain
        if not _within(gain, gains.question.margin):
            what = f"the best other model, {rival}," if len(ranking) > 2 else rival
            return gains.verdict("better", _better(baseline, what, back, gains))
    if gain is not None and _within(gain, gains.question.margin):
        return gains.verdict("not-worse", _not_worse((rival,), baseline, gains))
    return gains.verdict("cannot-tell", _cannot_tell((rival, baseline), gain, gains))


def _of_all(ranking: Sequence[str], gains: _Gains) -> Verdict:
    best, *others = ranking
    found = {model: gains.of(best, model) for model in others}
    # A gain that is told apart and negative: the pairs form a circle, in which nobody is best.
    equals = tuple(m for m, g in found.items() if g is None or not g.apart or g.value <= 0)
    if not equals:
        return gains.verdict("better", _best_of_all(best, others, found[others[0]], gains))
    back = [gains.of(model, best) for model in equals]
    if all(gain is not None and _within(gain, gains.question.margin) for gain in back):
        return gains.verdict("not-worse", _not_worse(equals, best, gains))
    widest = max((g for g in back if g is not None), key=lambda g: g.more or 0, default=None)
    return gains.verdict("cannot-tell", _cannot_tell((best, *equals), widest, gains))


def _within(gain: Gain, margin: float) -> bool:
    """Whether a model is surely worse by less than the margin, if it is worse at all."""
    return margin > 0 and gain.enough and gain.low is not None and gain.low > -margin


def _better(a: str, b: str, gain: Gain, gains: _Gains) -> str:
    return f"{a} is better than {b} by {gains.amount(gain.value)}{gains.span(gain)}"


def _best_of_all(best: str, others: Sequence[str], gain: Gain | None, gains: _Gains) -> str:
    if gain is None:
        raise ValueError(f"{best} and {others[0]} were not compared")
    if len(others) == 1:
        return _better(best, others[0], gain, gains)
    return (
        f"{best} is better than all {len(others)} others; it is ahead of the next, {others[0]}, "
        f"by {gains.amount(gain.value)}{gains.span(gain)}"
    )


def _not_worse(models: Sequence[str], best: str, gains: _Gains) -> str:
    verb = "is" if len(models) == 1 else "are"
    return (
        f"{_listed(models)} {verb} not worse than {best} "
        f"by more than {gains.amount(gains.question.margin)}"
    )


def _cannot_tell(models: Sequence[str], gain: Gain | None, gains: _Gains) -> str:
    where = "these rows"
    if gain is not None and not gain.enough:
        where = f"so few independent rows (it takes at least {FEWEST})"
    text = f"{_listed(models)} cannot be told apart by {gains.question.metric} on {where}"
    if gain is None or not gain.more:
        return text
    margin = gains.question.margin
    gap = f"a gap of {gains.amount(margin)}" if margin > 0 else "a gap as large as the one seen"
    return f"{text}; about {about(gain.more):,} more rows would settle {gap}"


def _listed(models: Sequence[str]) -> str:
    return models[0] if len(models) == 1 else f"{', '.join(models[:-1])} and {models[-1]}"


def _figure(value: float) -> str:
    """One decimal; two below 1, so that a small gap does not read as none."""
    text = f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"
    return text.removesuffix(".0").removesuffix(".00") if float(text) else "0"
