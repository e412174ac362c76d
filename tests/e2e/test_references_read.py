"""References that name a label or a choice: read one way for the whole column, or refused."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import bakeoff
from bakeoff.core.errors import InvalidSpec
from bakeoff.core.report import Report
from bakeoff.jobs.tables import read_predictions

NUMBERS = ["1", "2", "3", "4"]
GERMS = ["E. coli", "C. elegans", "A. thaliana"]
STARS = {"kind": "text-classification", "labels": ["1", "2", "3", "4", "5"]}
MOODS = {"kind": "text-classification", "labels": ["negative", "positive"]}
ORACLE = {"id": "oracle", "model": "baseline://column/pred"}


class Bench:
    """Rows in a file, and runs of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, rows: list[dict[str, Any]], task: Any, *, kind: str = "jsonl") -> Report:
        file = self.folder / f"d.{kind}"
        write(file, [{"id": f"r{at}", **row} for at, row in enumerate(rows)])
        return self.again(task, file)

    def again(self, task: Any, file: Path, **more: Any) -> Report:
        spec = {
            "name": "run",
            "dataset": str(file),
            "columns": {
                "id": "id",
                "reference": "answer",
                **({"question": "q", "choices": "choices"} if "labels" not in task else {}),
                **({"source": "q"} if "labels" in task else {}),
            },
            "task": task,
            "metrics": ["accuracy"],
            "models": [ORACLE],
            **more,
        }
        return bakeoff.run(spec, runs=self.folder / "runs")

    @property
    def references(self) -> list[tuple[str, ...]]:
        return [row.references for row in read_predictions(self.folder / "runs" / "run")]

    @property
    def said(self) -> list[str | None]:
        return [row.answers[0].text for row in read_predictions(self.folder / "runs" / "run")]


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    if file.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def asked(choices: list[str], answer: Any, pred: Any) -> dict[str, Any]:
    return {"q": "which?", "choices": choices, "answer": answer, "pred": pred}


def told(text: str, answer: Any, pred: Any) -> dict[str, Any]:
    return {"q": text, "answer": answer, "pred": pred}


def right(report: Report) -> float | None:
    return report.scores["oracle"]["accuracy"].value


def texts(report: Report) -> dict[str, str]:
    return {warning.code: warning.text for warning in report.warnings}


MIXED = [
    asked(NUMBERS, 2, "3"),
    asked(NUMBERS, 1, "2"),
    asked(["E. coli", "A. thaliana", "C. elegans"], "C. elegans", "C. elegans"),
    asked(GERMS, "A. thaliana", "A. thaliana"),
    asked(["B", "A", "O"], "B", "B"),
    asked(["B", "A", "O"], 0, "B"),
]


def test_numbers_in_json_are_places_and_texts_are_texts(bench: Bench) -> None:
    report = bench.run(MIXED, {"kind": "multiple-choice"})
    assert bench.references == [("3",), ("2",), ("C. elegans",), ("A. thaliana",), ("B",), ("B",)]
    assert bench.said == ["3", "2", "C. elegans", "A. thaliana", "B", "B"]
    assert right(report) == 1.0
    assert "numbers from 0" in texts(report)["references-read"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_numbers_among_numbers_as_choices_follow_the_whole_column(bench: Bench, kind: str) -> None:
    rows = [asked(NUMBERS, at % 4, NUMBERS[at % 4]) for at in (2, 1, 3, 0, 2)]
    assert right(bench.run(rows, {"kind": "multiple-choice"}, kind=kind)) == 1.0
    frozen = yaml.safe_load((bench.folder / "runs" / "run" / "spec.yaml").read_text())
    assert frozen["task"]["reference_is"] == "index-from-0"
    report = bakeoff.run({**frozen, "name": "run"}, runs=bench.folder / "runs")
    assert right(report) == 1.0
    assert report.models["oracle"].reused == len(rows)
    assert "references-read" not in texts(report)


@pytest.mark.parametrize("answers", [(2, 1), ("2", "1")], ids=["numbers", "texts"])
def test_two_readings_that_nothing_decides_are_refused(bench: Bench, answers: Any) -> None:
    rows = [asked(NUMBERS, answer, pred) for answer, pred in zip(answers, "32", strict=True)]
    with pytest.raises(InvalidSpec) as caught:
        bench.run(rows, {"kind": "multiple-choice"})
    assert "'2' in line 1 is '2' by its text and '3' as a number" in caught.value.message
    assert "set task.reference_is to text or index-from-0" in caught.value.message
    assert not (bench.folder / "runs" / "run" / "rows").exists()
    task = {"kind": "multiple-choice", "reference_is": "index-from-0"}
    assert right(bench.run(rows, task)) == 1.0
    task = {"kind": "multiple-choice", "reference_is": "text"}
    assert right(bench.run(rows, task)) == 0.0


def test_a_run_without_a_metric_of_references_needs_no_decision(bench: Bench) -> None:
    write(bench.folder / "d.jsonl", [{"id": "1", **asked(NUMBERS, 2, "3")}])
    task = {"kind": "multiple-choice"}
    report = bench.again(task, bench.folder / "d.jsonl", metrics=["length"])
    assert report.models["oracle"].done == 1


@pytest.mark.parametrize("method", ["generate", "auto"])
def test_letters_and_places_from_1(bench: Bench, method: str) -> None:
    task = {"kind": "multiple-choice", "method": method}
    rows = [asked(GERMS, letter, GERMS[at]) for at, letter in enumerate("ABC")]
    assert right(bench.run(rows, task)) == 1.0
    rows = [asked(GERMS, at + 1, GERMS[at]) for at in range(3)]
    report = bench.run(rows, task)
    assert right(report) == 1.0
    assert "numbers from 1" in texts(report)["references-read"]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@pytest.mark.parametrize("form", [int, str])
def test_labels_that_are_numbers_are_read_one_way(bench: Bench, form: Any, kind: str) -> None:
    rows = [told("x", form(at), str(at + 1)) for at in range(5)]
    report = bench.run(rows, STARS, kind=kind)
    assert bench.references == [("1",), ("2",), ("3",), ("4",), ("5",)]
    assert right(report) == 1.0
    rows = [told("x", form(at + 1), str(at + 1)) for at in range(5)]
    report = bench.run(rows, STARS, kind=kind)
    assert right(report) == 1.0
    assert "references-read" not in texts(report)


def test_whole_numbers_that_parquet_holds_as_fractions(bench: Bench) -> None:
    """A column of whole numbers with a gap is one of fractions after pandas."""
    rows = [told("x", number, "1") for number in (1.0, 2.0, None, 0.0)]
    report = bench.run(rows, MOODS | {"labels": ["bad", "fair", "good"]}, kind="parquet")
    assert bench.references == [("fair",), ("good",), (), ("bad",)]
    assert "references-unknown" not in texts(report)


def test_a_column_of_the_data_is_read_like_the_references(bench: Bench) -> None:
    """An oracle that reads the reference column itself is always right."""
    cases: list[tuple[dict[str, Any], list[Any]]] = [
        ({"reference_is": "index-from-0"}, [2, 1]),
        ({"reference_is": "index-from-1"}, ["2", "1"]),
        ({}, [2, 1, 0]),
        ({}, ["D", "A"]),
    ]
    for task, answers in cases:
        write(bench.folder / "d.jsonl", [asked(NUMBERS, answer, "") for answer in answers])
        report = bench.again(
            {"kind": "multiple-choice", **task},
            bench.folder / "d.jsonl",
            columns={"question": "q", "choices": "choices", "reference": "answer"},
            models=[{"id": "oracle", "model": "baseline://column/answer"}],
        )
        assert right(report) == 1.0, (task, answers)


def test_a_column_of_places_counts_as_labels(bench: Bench) -> None:
    rows = [told("x", label, at) for at, label in enumerate(MOODS["labels"])]
    assert right(bench.run(rows, MOODS)) == 1.0


def test_references_that_are_no_label_are_counted_and_not_scored(bench: Bench) -> None:
    rows = [
        told("x", "positive", "positive"),
        told("y", "postive", "positive"),
        told("z", "Neg", "negative"),
        told("q", "7", "positive"),
    ]
    report = bench.run(rows, MOODS)
    score = report.scores["oracle"]["accuracy"]
    assert (score.value, score.n, score.unscored) == (1.0, 1, 3)
    assert score.reasons == {"no reference": 3}
    said = texts(report)["references-unknown"]
    assert said == (
        "3 of 4 references are no label of task.labels and count as none: 'postive', 'Neg', '7'"
    )
    assert texts(report)["some-without-reference"].startswith("3 of 4 rows ")


def test_references_that_name_no_choice_are_counted_too(bench: Bench) -> None:
    rows = [asked(GERMS, "E. coli", "E. coli"), asked(GERMS, "B. subtilis", "E. coli")]
    report = bench.run(rows, {"kind": "multiple-choice"})
    assert "1 of 2 references names no choice of its row" in texts(report)["references-unknown"]
    assert right(report) == 1.0


def test_labels_in_two_unicode_forms(bench: Bench) -> None:
    labels = ["café", "thé", "Straße"]
    cut = [unicodedata.normalize("NFD", label) for label in labels]
    rows = [told("x", label, other) for label, other in zip(labels, cut, strict=True)]
    rows += [told("y", other, label) for label, other in zip(labels, cut, strict=True)]
    report = bench.run(rows, {"kind": "text-classification", "labels": labels})
    assert right(report) == 1.0
    assert bench.references == [(label,) for label in labels] * 2
    assert bench.said == labels * 2


QUESTIONS = [
    {"answers": ["Ann", "Ann went"], "p": "Ann"},
    {"answers": [], "p": ""},
    {"answers": [""], "p": ""},
    {"answers": None, "p": ""},
    {"answers": [" "], "p": "Ed"},
    {"answers": ["the"], "p": "no answer"},
    {"answers": ["Ed"], "p": None},
]


@pytest.mark.parametrize(("no_answer", "lacking"), [(True, 1), (False, 4)])
def test_one_count_of_rows_without_reference(no_answer: bool, lacking: int, bench: Bench) -> None:
    rows = [{"question": "who?", "context": "Ann went home.", **row} for row in QUESTIONS]
    write(bench.folder / "d.jsonl", rows)
    report = bench.again(
        {"kind": "question-answering", "no_answer": no_answer},
        bench.folder / "d.jsonl",
        columns={"question": "question", "context": "context", "reference": "answers"},
        metrics=["squad_f1"],
        models=[{"id": "p", "model": "baseline://column/p"}],
    )
    told_ = [w for w in report.warnings if "no reference" in w.text]
    assert [(w.code, w.rows) for w in told_] == [("some-without-reference", lacking)]
    assert told_[0].text.startswith(f"{lacking} of 7 rows ")
