"""What a report says of limits, failures, speeds and settings is true of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bakeoff
from bakeoff.core.report import Report
from tests.e2e import commands
from tests.zoo import zoo_path


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = ["id,text,ref", *(f"{n},1 lamp 2 boat row {n},ROW {n}" for n in range(4))]
    Path("d.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(models: list[Any], **more: Any) -> Report:
    spec = {
        "name": "r",
        "dataset": "d.csv",
        "columns": {"id": "id", "source": "text", "reference": "ref"},
        "task": "text-generation",
        "metrics": ["exact_match"],
        "models": models,
        **more,
    }
    return bakeoff.run(spec)


def warned(report: Report, code: str) -> list[str]:
    return [warning.text for warning in report.warnings if warning.code == code]


def test_a_limit_counts_rows_and_the_other_counts_are_of_answers() -> None:
    few = {"id": "few", "model": "fake://echo", "limit": 2}
    models = [{"model": "fake://upper?fail_text=row 1"}, few]
    report = run(models, repeats=3, max_failures=None)
    assert warned(report, "fewer-rows") == ["few was asked 2 rows only (its limit), others 4"]
    (failed,) = warned(report, "failures")
    assert failed.startswith("upper: 3 of 12 answers failed")


def test_rows_that_infer_could_not_answer_are_failures_for_evaluate() -> None:
    made = commands.bakeoff(
        "infer", "d.csv", "-m", "fake://upper?fail_text=row 2", "-c", "source=text", "-o", "a.csv"
    )
    assert made.code == 3, made
    done = commands.bakeoff("evaluate", "a.csv", "-p", "predictions", "-r", "ref",
                            "--metrics", "exact_match", "--json")  # fmt: skip
    assert done.code == 3, done
    report = json.loads(Path("runs/evaluate-a/report.json").read_text())
    (model,) = report["models"].values()
    assert (model["failures"], model["empty"]) == (1, 0), done
    assert report["scores"]["predictions"]["exact_match"]["failed"] == 1


def test_latency_belongs_to_a_prompt() -> None:
    def latency(template: str) -> float:
        prompt = {"template": template, "mode": "plain"}
        report = run([{"id": "m", "model": "fake://echo?delay=0.02", "prompt": prompt}])
        found = report.models["m"].latency
        assert found is not None
        return found.p50

    first = latency("{{ text }}")
    again = latency("again {{ text }}")
    assert again != first
    assert latency("{{ text }}") == first


def test_settings_of_the_checkpoint_that_the_spec_overrides_are_said() -> None:
    report = run(
        [{"id": "t5", "model": str(zoo_path("t5")), "max_new_tokens": 5, "min_new_tokens": 0}],
        task="summarization",
    )
    (text,) = warned(report, "task-specific-params")
    assert text.endswith("; the spec sets max_new_tokens, min_new_tokens otherwise")
    plain = run([{"id": "t5", "model": str(zoo_path("t5"))}], task="summarization", name="plain")
    (text,) = warned(plain, "task-specific-params")
    assert "otherwise" not in text


def test_a_cut_prompt_of_several_choices_is_counted_once() -> None:
    rows = [
        {"question": "1 lamp " * 600, "choices": ["ring", "boat", "coat", "bell"], "ref": "boat"}
    ]
    Path("mc.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    model = {"id": "m", "model": str(zoo_path("qwen2")), "truncate": "cut"}
    report = run(
        [model],
        dataset="mc.jsonl",
        columns={"question": "question", "choices": "choices", "reference": "ref"},
        task={"kind": "multiple-choice", "method": "likelihood"},
        metrics=["accuracy"],
    )
    found = report.models["m"]
    assert found.truncated == 1
    assert 0 < found.tokens_cut < found.tokens_cut + found.prompt_tokens < 4 * 600
    assert found.prompt_tokens <= 512


def test_compare_names_the_metrics_that_it_cannot_average() -> None:
    run(["fake://upper"], metrics=["exact_match", "chrf"], name="one")
    run(["fake://echo"], metrics=["exact_match", "chrf"], name="two")
    said = commands.bakeoff("compare", "runs/one", "runs/two")
    assert said.code == 0
    assert "chrf belongs to a whole run" in " ".join((said.out + said.err).split())
    refused = commands.bakeoff("compare", "runs/one", "runs/two", "--metric", "chrf").mistake()
    assert "put the models into one spec" in refused


def test_an_address_keeps_its_password_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hf_CANARYsecret"
    said = commands.bakeoff("data", f"https://user:{secret}@host/d.csv?key={secret}")
    assert said.code == 2 and secret not in said.out + said.err
    endpoint = f"http://user:{secret}@host:1/v1?key={secret}"
    with pytest.raises(bakeoff.BakeoffError) as caught:
        run([{"id": "m", "endpoint": endpoint, "model": "x"}])
    assert secret not in str(caught.value)


@pytest.mark.parametrize("spec", [None, 3, b"x"])
def test_what_is_no_spec_is_refused_as_any_mistake(spec: Any) -> None:
    with pytest.raises(bakeoff.BakeoffError, match="a spec is"):
        bakeoff.run(spec)
