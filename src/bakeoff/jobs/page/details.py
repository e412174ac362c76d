"""The tables below the leaderboard: pairs, models, metrics, data, rows on the page."""

from __future__ import annotations

from dataclasses import dataclass

from bakeoff.core.report import ModelSummary, Pair, Report
from bakeoff.jobs.page import numbers
from bakeoff.jobs.page.choose import PageChoice
from bakeoff.jobs.page.leaderboard import Bar, conditions
from bakeoff.jobs.page.summary import precision
from bakeoff.stats.verdict import told_apart

_SPEC_LIMIT = 200_000


@dataclass(frozen=True, slots=True)
class PairLine:
    """A paired difference, with its interval on the scale of its metric's other pairs."""

    pair: Pair
    difference: str
    interval: str
    bar: Bar | None
    zero: float
    apart: bool


def pair_lines(report: Report) -> list[PairLine]:
    """All paired differences, those of the deciding metric first."""
    pairs = sorted(report.pairs, key=lambda p: p.metric != report.ranked_by)
    reach: dict[str, float] = {}
    for pair in pairs:
        ends = [abs(v) for v in (pair.low, pair.difference, pair.high) if v is not None]
        reach[pair.metric] = max([reach.get(pair.metric, 0.0), *ends])
    return [_pair_line(report, pair, reach[pair.metric] or 1.0) for pair in pairs]


def pair_methods(report: Report) -> list[str]:
    """How differences were tested, each way once."""
    return sorted({pair.method for pair in report.pairs} - {""})


def _pair_line(report: Report, pair: Pair, reach: float) -> PairLine:
    info = report.metrics.get(pair.metric)
    scale = info.scale if info else None

    def place(value: float) -> float:
        return round(50 + 48 * value / reach, 2)

    bar = None
    interval = "–"
    if pair.difference is not None:
        low = pair.difference if pair.low is None else pair.low
        high = pair.difference if pair.high is None else pair.high
        bar = Bar(place(low), place(pair.difference), place(high))
        if pair.low is not None and pair.high is not None:
            interval = f"{numbers.score(low, scale)} to {numbers.score(high, scale)}"
    apart = told_apart(pair)
    return PairLine(pair, numbers.score(pair.difference, scale), interval, bar, 50.0, apart)


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """One model in full."""

    model: str
    facts: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str, str], ...]
    """Name, value, origin."""


def model_details(report: Report) -> list[ModelDetails]:
    """Everything that is known of each model."""
    return [
        ModelDetails(model, tuple(_facts(summary)), tuple(_settings(summary)))
        for model, summary in report.models.items()
    ]


def _facts(model: ModelSummary) -> list[tuple[str, str]]:
    facts = [
        ("reference", model.reference),
        ("identity", model.identity),
        ("engine", precision(model)),
        ("why this engine", model.why),
        ("device", model.device),
        ("adapters", ", ".join(model.adapters)),
        ("numerics", model.numerics),
        ("prompt prefix", repr(model.prefix) if model.prefix else ""),
        ("rows asked for", numbers.count(model.rows)),
        ("with a prediction", numbers.count(model.done)),
        ("reused from an earlier run", numbers.count(model.reused)),
        ("prompt tokens", numbers.count(model.prompt_tokens)),
        ("new tokens", numbers.count(model.completion_tokens)),
    ]
    if model.seconds is not None:
        facts.append(("generation took", numbers.seconds(model.seconds)))
    if model.batch is not None:
        facts.append(("rows in a batch, mean", numbers.significant(model.batch)))
    if model.latency is not None:
        facts.append(
            ("latency", f"{numbers.plural(model.latency.rows, 'row')}, {conditions(model)}")
        )
    return [(name, value) for name, value in facts if value]


def _settings(model: ModelSummary) -> list[tuple[str, str, str]]:
    names = list(dict.fromkeys((*model.generation, *model.origins)))
    return [
        (name, _value(model.generation.get(name)), model.origins.get(name, "")) for name in names
    ]


def _value(value: object) -> str:
    return "none" if value is None else str(value)


def metric_details(report: Report) -> list[tuple[str, str, str, str]]:
    """Name, direction, how it is made up, signature."""
    words = {"higher": "higher is better", "lower": "lower is better"}
    kinds = {"row": "mean over rows", "corpus": "over all rows together"}
    return [
        (
            name,
            words.get(info.better or "", "neither direction is better"),
            kinds[info.kind] + (f", {info.unit}" if info.unit else ""),
            info.signature,
        )
        for name, info in report.metrics.items()
    ]


def interval_methods(report: Report) -> list[str]:
    """How the intervals were made, each way once."""
    methods = {s.method for scores in report.scores.values() for s in scores.values()}
    return sorted(methods - {""})


def data_facts(report: Report) -> list[tuple[str, str]]:
    """The data set in full."""
    data = report.data
    facts = [
        ("data set", data.name),
        ("rows", numbers.count(data.rows)),
        ("with a reference", numbers.count(data.with_reference)),
        ("groups", numbers.count(data.groups) if data.groups else ""),
        ("columns", ", ".join(data.columns)),
        ("content hash", data.hash),
        ("spec hash", report.spec_hash),
    ]
    facts += [(f"role {role}", _columns(value)) for role, value in data.roles.items()]
    return [(name, value) for name, value in facts if value]


def _columns(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else _value(value)


_FOUND = (
    ("failed", "with a failure"),
    ("truncated", "with a cut input"),
    ("ran_to_limit", "that ran to the limit"),
    ("looped", "with a loop"),
    ("empty", "with an empty answer"),
)


def choice_parts(choice: PageChoice) -> list[str]:
    """Which rows are on the page, as sentences."""
    if choice.shown >= choice.total:
        parts = [f"All {numbers.plural(choice.total, 'row')} of the run are on this page."]
    else:
        by = f"by {choice.metric}" if choice.metric else "by the words of the answers"
        found = ", ".join(
            f"{choice.found[kind]:,} {words}" for kind, words in _FOUND if choice.found.get(kind)
        )
        parts = [
            f"{choice.shown:,} of {numbers.plural(choice.total, 'row')} are on this page: "
            f"{choice.kept.get('special', 0):,} that show every kind of failure, cut, loop and "
            f"empty answer, {choice.kept.get('disagreement', 0):,} with the largest disagreement "
            f"between models {by}, and a sample of {choice.kept.get('sample', 0):,} drawn with "
            f"seed {choice.seed}. All rows are in predictions.parquet."
        ]
        if found:
            parts.append(f"In the whole run: {found}.")
    if choice.dropped:
        parts.append(f"{choice.dropped:,} chosen rows were left out to keep the page under 20 MB.")
    if choice.clipped:
        parts.append(f"Texts are cut to {choice.clipped:,} characters for the same reason.")
    return parts


def spec_text(spec_yaml: str) -> str:
    """The spec, cut only where it is absurdly long."""
    if len(spec_yaml) <= _SPEC_LIMIT:
        return spec_yaml
    more = len(spec_yaml) - _SPEC_LIMIT
    return f"{spec_yaml[:_SPEC_LIMIT]}\n# ... {more:,} more characters, see spec.yaml\n"
