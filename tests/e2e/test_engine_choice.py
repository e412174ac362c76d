"""Which engine a run takes, what the report says of it, and whose rows are kept."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bakeoff.engines.proven import Proofs
from tests.e2e.commands import Said, bakeoff
from tests.zoo import expected, zoo_inputs, zoo_path

pytestmark = pytest.mark.torch
ROWS = 12
VERSION = importlib.metadata.version("ctranslate2")


class Bench:
    """A folder with dates to rewrite."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rows = [{"text": text, "iso": expected("dates-t5", text)}
                for text in zoo_inputs("dates-t5", ROWS)]  # fmt: skip
        (folder / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def run(self, **entry: Any) -> tuple[Said, dict[str, Any]]:
        spec = {
            "name": "r",
            "dataset": "d.jsonl",
            "columns": {"source": "text", "reference": "iso"},
            "task": "text-generation",
            "metrics": ["exact_match"],
            "models": [{"id": "a", "model": str(zoo_path("dates-t5")), "accelerator": "cpu",
                        "max_new_tokens": 16, **entry}],
        }  # fmt: skip
        path = self.folder / "s.yaml"
        path.write_text(yaml.safe_dump(spec))
        said = bakeoff("run", path, "--runs", self.folder / "runs")
        report = self.folder / "runs" / "r" / "report.json"
        return said, json.loads(report.read_text()) if said.code == 0 else {}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_by_name_the_engine_runs_and_is_shown(bench: Bench) -> None:
    _, report = bench.run(engine="ctranslate2")
    model = report["models"]["a"]
    assert (model["engine"], model["version"], model["dtype"]) == (
        *("ctranslate2", VERSION, "float32"),
    )
    assert model["done"] == ROWS
    assert report["versions"]["ctranslate2"] == VERSION
    assert report["scores"]["a"]["exact_match"]["value"] > 0.9


def test_rows_of_a_proven_setting_are_kept_when_the_engine_changes(bench: Bench) -> None:
    _, first = bench.run(engine="transformers")
    _, second = bench.run(engine="ctranslate2")
    model = second["models"]["a"]
    assert (model["reused"], model["numerics"]) == (ROWS, "exact")
    assert model["engine"] == "transformers"
    assert "ctranslate2" in model["why"]
    assert second["scores"] == first["scores"]


def test_fewer_bits_are_shown_and_their_rows_are_their_own(bench: Bench) -> None:
    bench.run(engine="ctranslate2")
    _, report = bench.run(compute_type="int8")
    model = report["models"]["a"]
    assert (model["reused"], model["engine"]) == (0, "ctranslate2")
    assert model["dtype"].startswith("int8")
    assert model["numerics"] == f"ctranslate2 {VERSION}"


def test_auto_takes_it_where_it_is_proven_and_says_why(bench: Bench) -> None:
    _, report = bench.run()
    model = report["models"]["a"]
    assert (model["engine"], model["numerics"]) == ("ctranslate2", "exact")
    assert "proven equal" in model["why"]
    _, report = bench.run(num_beams=3)
    assert report["models"]["a"]["engine"] == "transformers"


def test_a_version_without_proof_is_told_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "bakeoff.engines.proven.read_proofs", lambda engine: (Proofs("0.0.1", "x", ()),)
    )
    _, report = bench.run()
    assert report["models"]["a"]["engine"] == "transformers"
    (warning,) = [one for one in report["warnings"] if one["code"] == "engine-unproven"]
    assert VERSION in warning["text"]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"engine": "ctranslate2", "num_beams": 2}, "early_stopping"),
        ({"engine": "ctranslate2", "temperature": 0.5}, "temperature"),
        ({"engine": "transformers", "compute_type": "int8"}, "torch_dtype"),
        ({"compute_type": "int3"}, "int8"),
    ],
)
def test_what_it_cannot_do_is_refused_with_the_field(
    bench: Bench, entry: dict[str, Any], says: str
) -> None:
    said, _ = bench.run(**entry)
    assert says in said.mistake()
