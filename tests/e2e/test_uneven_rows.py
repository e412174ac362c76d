"""Models with different rows (limits, failures, blanks): ranking, verdict and `bakeoff compare`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bakeoff
from bakeoff.core.ports import MetricOutput, Scores
from bakeoff.core.report import MetricSummary, Report, Score
from bakeoff.core.specs import DecideSpec
from bakeoff.jobs.deciding import Decision, Evidence, decide
from bakeoff.jobs.scoring import ModelScores, RowUnits, Scored
from tests.e2e import commands

NAN = float("nan")


class Bench:
    """Answers in columns of a file, and runs of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, rows: list[dict[str, Any]]) -> None:
        lines = [json.dumps({"id": f"r{at}", **row}) for at, row in enumerate(rows)]
        (self.folder / "d.jsonl").write_text("\n".join(lines) + "\n")

    def run(self, models: list[dict[str, Any]], **more: Any) -> Report:
        spec = {
            "name": "run",
            "dataset": str(self.folder / "d.jsonl"),
            "columns": {"id": "id", "reference": "gold"},
            "task": {"kind": "custom", "template": "{{ row }}"},
            "metrics": ["accuracy"],
            "models": models,
        }
        return bakeoff.run({**spec, **more}, runs=self.folder / "runs")

    def compared(self, *names: str) -> dict[str, Any]:
        folders = [str(self.folder / "runs" / name) for name in names]
        found: dict[str, Any] = json.loads(commands.bakeoff("compare", *folders, "--json").out)
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def column(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "model": f"baseline://column/{name}", **more}


def easy_then_hard(rows: int = 100, easy: int = 30) -> list[dict[str, Any]]:
    """`b` gets all easy rows and few hard ones right, `a` two of three easy ones."""
    return [
        {
            "gold": "yes" if at % 2 else "no",
            "a": ("yes" if at % 2 else "no") if at % 3 else "?",
            "b": ("yes" if at % 2 else "no") if at < easy or at % 10 == 0 else "?",
        }
        for at in range(rows)
    ]


def texts(report: Report) -> dict[str, str]:
    return {warning.code: warning.text for warning in report.warnings}


@pytest.mark.parametrize("metric", ["accuracy", "macro_f1"])
def test_models_are_ranked_on_the_rows_that_all_have(metric: str, bench: Bench) -> None:
    bench.write(easy_then_hard())
    report = bench.run([column("a", limit=30), column("b")], metrics=[metric])
    values = {model: scores[metric].value or 0.0 for model, scores in report.scores.items()}
    assert values["a"] > values["b"]  # the table keeps each model's own rows
    assert report.ranking == ("b", "a")
    assert report.tiers == (("b",), ("a",))
    assert report.verdict is not None
    assert report.verdict.sentence.startswith("b is better than a by ")
    assert "by -" not in report.verdict.sentence
    assert texts(report)["placed-by-few-rows"] == (
        "a was asked fewer rows: its place rests on 30 rows alone"
    )
    assert "ranked-on-shared-rows" not in texts(report)


def test_a_model_with_a_limit_takes_no_rows_away_from_the_others() -> None:
    """On the two rows of `few`, `a` is the best; on all rows `b` is far better than `a`."""
    a, b = [0.9, 0.9] + [0.1, 0.2] * 20, [0.8, 0.8] + [0.7, 0.9] * 20
    few = [0.85, 0.85] + [NAN] * 40
    found = decided({"a": a, "b": b, "few": few}, limited=["few"])
    assert found.ranking == ("few", "b", "a") or found.ranking == ("b", "a", "few")
    assert found.ranking.index("b") < found.ranking.index("a")
    assert [warning.code for warning in found.warnings] == ["placed-by-few-rows"]
    bad = decided({"a": a, "b": b, "few": [0.1, 0.1] + [NAN] * 40}, limited=["few"])
    assert bad.ranking == ("b", "a", "few")
    apart = decided({"a": a, "b": b, "few": [NAN] * 42}, limited=["few"])
    assert apart.ranking == ("b", "a", "few")


def test_equal_rows_need_no_note(bench: Bench) -> None:
    bench.write(easy_then_hard())
    report = bench.run([column("a"), column("b")])
    assert report.ranking == ("a", "b")
    assert "ranked-on-shared-rows" not in texts(report)


def decided(
    values: dict[str, list[float]], spec: DecideSpec | None = None, limited: Sequence[str] = ()
) -> Decision:
    """The decision about models with these scores by row; NaN is "not measured"."""
    output = MetricOutput("m")
    columns = {model: np.array(column) for model, column in values.items()}
    rows = tuple(map(str, range(len(next(iter(columns.values()))))))
    units = {
        model: {"m": RowUnits(rows, column, None, ~np.isnan(column))}
        for model, column in columns.items()
    }
    scores = {
        model: {"m": Score(value=None if np.isnan(c).all() else float(np.nanmean(c)))}
        for model, c in columns.items()
    }
    scored = {model: {"m": ModelScores(model, "m", (), Scores(output, (), ()))} for model in values}
    metrics = {"m": MetricSummary(metric="m")}
    return decide(spec, Evidence(metrics, scores, units, Scored(scored, ()), None, limited))


def test_no_row_that_all_have_ranks_on_own_rows_and_says_so() -> None:
    found = decided({"a": [0.2, 0.4, NAN, NAN], "b": [NAN, NAN, 0.9, 0.7]})
    assert found.ranking == ("b", "a")
    assert [warning.code for warning in found.warnings] == ["no-shared-rows"]


def test_a_model_told_apart_on_more_rows_stands_before_the_other() -> None:
    """The one row that `c` has puts `a` first, the 40 of the pair put `b` first."""
    a, b = [0.9] + [0.1, 0.2] * 20, [0.8] + [0.7, 0.9] * 20
    found = decided({"a": a, "b": b, "c": [0.1] + [NAN] * 40})
    assert found.ranking.index("b") < found.ranking.index("a")
    assert found.verdict is not None
    assert "by -" not in found.verdict.sentence
    (warning,) = found.warnings
    assert "ranked on the 1 row that all models have" in warning.text


def test_a_baseline_without_a_value_is_said() -> None:
    values = {"a": [0.1, 0.2, 0.3], "b": [0.2, 0.3, 0.5], "base": [NAN] * 3}
    found = decided(values, DecideSpec(baseline="base"))
    (warning,) = found.warnings
    assert warning.code == "baseline-without-value"
    assert "decide.baseline 'base' has no value of m" in warning.text
    assert decided(values, DecideSpec(baseline="a")).warnings == ()


def test_compare_uses_the_rows_that_every_model_answered(bench: Bench) -> None:
    bench.write(easy_then_hard())
    bench.run([column("a", limit=30)], name="one")
    bench.run([column("b")], name="two")
    found = bench.compared("one", "two")
    scores = {m["label"]: m["scores"]["accuracy"] for m in found["models"]}
    assert [m["label"] for m in found["models"]] == ["two/b", "one/a"]
    assert {score["n"] for score in scores.values()} == {30}
    assert scores["two/b"]["value"] == 1.0
    assert found["shared"] == 30
    bench.run([column("a", limit=30), column("b")], name="three")
    found = bench.compared("two", "three")
    assert found["shared"] == 100
    assert {m["scores"]["accuracy"]["n"] for m in found["models"]} == {30}
    assert "scores rest on the 30 of 100 shared rows that every model answered" in found["notes"]


def test_compare_draws_groups_together(bench: Bench) -> None:
    bench.write([{**row, "doc": f"d{at // 10}"} for at, row in enumerate(easy_then_hard())])
    grouped = {"id": "id", "reference": "gold", "group": "doc"}
    own = bench.run([column("a")], name="one", columns=grouped).scores["a"]["accuracy"]
    bench.run([column("b")], name="two")  # names no groups: they hold for it too
    found = bench.compared("one", "two")
    scores = {m["label"]: m["scores"]["accuracy"] for m in found["models"]}
    assert (scores["one/a"]["low"], scores["one/a"]["high"]) == (own.low, own.high)
    assert all("over groups" in score["method"] for score in scores.values())


@pytest.mark.parametrize("no_answer", [True, False])
def test_blank_answers_are_counted_and_missing_ones_are_none(no_answer: bool, bench: Bench) -> None:
    rows = [{"gold": gold, "question": "q", "context": "c"} for gold in ("x", "", " ", [], None)]
    bench.write([*rows, {"question": "q", "context": "c"}])
    columns = {"id": "id", "reference": "gold", "question": "question", "context": "context"}
    task = {"kind": "question-answering", "no_answer": no_answer}
    models = [{"id": "m", "model": "baseline://column/context"}]
    report = bench.run(models, columns=columns, task=task, metrics=["squad_f1"])
    assert report.data.with_reference == (4 if no_answer else 1)
    found = [w for w in report.warnings if w.code == "blank-is-answer"]
    assert [w.rows for w in found] == ([3] if no_answer else [])
    if no_answer:
        assert "3 rows have a blank answer" in found[0].text
        assert "set task.no_answer: false to leave them out" in found[0].text
