"""The shipped examples, with the models that lie in the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bakeoff
from bakeoff.core.report import Report
from bakeoff.jobs.tables import read_predictions
from tests.unit.project.tree import ROOT

EXAMPLES = ROOT / "examples"
SMOL = "SmolLM2-135M-Instruct.Q4_1.gguf"


def run(name: str, tmp_path: Path) -> Report:
    """Carry out an example without the model that has to be fetched."""
    from bakeoff.wiring import read_spec

    spec, _ = read_spec(EXAMPLES / f"{name}.yaml")
    kept = tuple(
        entry.model_copy(update={"model": _absolute(entry.model or "")})
        for entry in spec.models
        if SMOL not in (entry.model or "")
    )
    data = spec.dataset.model_copy(update={"path": str(EXAMPLES / spec.dataset.path)})
    decide = spec.decide.model_copy(update={"baseline": None}) if spec.decide else None
    changed = spec.model_copy(update={"models": kept, "dataset": data, "decide": decide})
    return bakeoff.run(changed, runs=tmp_path)


def _absolute(model: str) -> str:
    return model if "://" in model else str((EXAMPLES / model).resolve())


def test_a_question_and_a_context_column_with_an_extractive_model(tmp_path: Path) -> None:
    report = run("questions", tmp_path)
    found = report.scores["extractive"]["squad_f1"]
    assert (found.n, found.unscored) == (40, 0)
    assert found.value is not None
    assert found.value >= 0.9
    for row in read_predictions(tmp_path / "questions"):
        (answer,) = row.answers
        place: dict[str, Any] = answer.extra
        if answer.text:
            assert row.inputs["context"][place["start"] : place["end"]] == answer.text
        assert 0.0 <= place["score"] <= 1.0
        assert place["no_answer"] is not None
    empty = [r.row for r in read_predictions(tmp_path / "questions") if r.references == ("",)]
    assert len(empty) == 4


def test_the_small_encoder_decoder_solves_the_dates(tmp_path: Path) -> None:
    report = run("dates", tmp_path)
    assert report.scores["dates-t5"]["exact_match"].value == 1.0
    assert report.scores["copy"]["exact_match"].value == 0.0
    assert report.ranking == ("dates-t5", "copy")
    assert report.verdict is not None
    assert report.verdict.kind == "better"
    assert report.models["dates-t5"].ran_to_limit == 0


def test_the_lead_of_a_dialogue_is_a_summary_of_sorts(tmp_path: Path) -> None:
    report = run("dialogues", tmp_path)
    value = report.scores["lead-3"]["rougeL"].value
    assert value == pytest.approx(0.186, abs=0.002)
    assert report.data.groups == 7


@pytest.mark.parametrize("name", ["dates", "dialogues", "questions"])
def test_every_example_says_where_the_fetched_model_lies(name: str) -> None:
    from bakeoff.wiring import read_spec

    spec, _ = read_spec(EXAMPLES / f"{name}.yaml")
    assert any(entry.model == f"./models/{SMOL}" for entry in spec.models)


def test_the_dates_are_those_the_script_draws() -> None:
    from examples.make_dates import main

    assert main(["--check"]) == 0
