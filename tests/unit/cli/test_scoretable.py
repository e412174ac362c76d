"""The table of scores at every width: names, the deciding metric and notes stay whole."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bakeoff.cli.leaderboard import leaderboard
from bakeoff.cli.scoretable import fitted
from bakeoff.core.report import DataSummary, MetricSummary, ModelSummary, Report, Score

METRICS = ("rougeL", "rouge1", "rouge2", "rougeLsum", "chrf", "bleu")


def report(names: tuple[str, ...]) -> Report:
    model = ModelSummary(
        reference="m",
        engine="e",
        rows=200,
        failures=3,
        ran_to_limit=112,
        looped=4,
        tokens_per_s=146.71,
    )
    score = Score(value=0.4123, low=0.3987, high=0.4301)
    return Report(
        name="dialogues",
        created="2026-01-01T00:00:00Z",
        data=DataSummary(name="d", hash="h", rows=200, columns=()),
        task="summarization",
        models=dict.fromkeys(names, model),
        metrics={name: MetricSummary(metric="m") for name in METRICS}
        | {"compression": MetricSummary(metric="m", better=None)},
        scores=dict.fromkeys(names, dict.fromkeys(METRICS, score)),
        ranking=names,
        ranked_by="rougeL",
    )


def shown(names: tuple[str, ...], width: int) -> tuple[str, list[str]]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    table, left_out = fitted(leaderboard(report(names)), console)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue(), left_out


@pytest.mark.parametrize(
    ("width", "metrics", "interval", "latency"),
    [
        (200, 5, "0.412 (0.399-0.430)", True),
        (130, 5, "0.399-0.430", True),
        (120, 5, "0.399-0.430", False),
        (100, 3, "0.399-0.430", False),
        (80, 2, "0.399-0.430", False),
    ],
)
def test_what_is_whole_at_a_width(width: int, metrics: int, interval: str, latency: bool) -> None:
    text, left_out = shown(("smol-few-shot", "lead-3"), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for word in (
        "smol-few-shot",
        "lead-3",
        "rougeL ↑",
        interval,
        "146.7",
        "failed",
        "112 at limit",
    ):
        assert word in text, (word, text)
    assert ("p50 s" in text) == latency
    assert sum(f"{name} ↑" in text for name in METRICS) == metrics
    assert left_out == [*METRICS[metrics:], "compression"]


@pytest.mark.parametrize("width", [80, 60, 40])
def test_a_long_name_is_folded_and_the_rest_stays(width: int) -> None:
    name = "a-name-of-a-model-that-is-longer-than-many-terminals-are-wide-0123456789"
    text, _ = shown((name, "b"), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert "0.399-0.430" in text
    assert "failed" in text
    first = text.splitlines()[4]
    column = len(first) - len(first.lstrip()) + len(first.split()[0])
    joined = "".join(line[:column].strip() for line in text.splitlines()[4:])
    assert joined.startswith(name)


def test_without_metrics_there_is_a_table_all_the_same() -> None:
    bare = report(("a",)).model_copy(update={"metrics": {}, "scores": {}, "ranked_by": None})
    console = Console(file=io.StringIO(), width=80)
    table, left_out = fitted(leaderboard(bare), console)
    assert next(column.header for column in table.columns) == "model"
    assert left_out == []
