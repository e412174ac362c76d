"""Translation by the command line: languages are settled before any weights are read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.report import Report
from tests.e2e.commands import Said, bakeoff
from tests.zoo import zoo_inputs, zoo_path

pytestmark = pytest.mark.torch
Translate = Callable[..., Said]


@pytest.fixture
def translate(tmp_path: Path) -> Translate:
    """Run a translation of two rows by a model of the zoo; its weights may be left out."""

    def run(zoo: str, task: dict[str, Any], weights: bool = True, **entry: Any) -> Said:
        folder = tmp_path / f"opus-mt-{zoo}"
        shutil.copytree(zoo_path(zoo), folder)
        if not weights:
            (folder / "model.safetensors").write_bytes(b"never read")
        rows = [{"id": str(n), "source": text} for n, text in enumerate(zoo_inputs(zoo, 2))]
        (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
        spec = {
            "name": "t",
            "dataset": "rows.jsonl",
            "columns": {"id": "id", "source": "source"},
            "task": {"kind": "translation", **task},
            "metrics": ["length"],
            "generation": {"max_new_tokens": 4},
            "models": [{"id": "m", "model": f"./{folder.name}", **entry}],
        }
        path = tmp_path / "spec.json"
        path.write_text(json.dumps(spec))
        return bakeoff("run", path, "--runs", tmp_path / "runs")

    return run


def warnings(tmp_path: Path) -> dict[str, str]:
    found = Report.model_validate_json((tmp_path / "runs" / "t" / "report.json").read_bytes())
    return {one.code: one.text for one in found.warnings}


def pair(source: str, target: str) -> dict[str, str]:
    return {"source_language": source, "target_language": target}


def test_the_pair_of_a_one_pair_model_is_in_the_report(
    translate: Translate, tmp_path: Path
) -> None:
    assert translate("marian", {}).code == 0
    assert "from English to German" in warnings(tmp_path)["translation-pair-assumed"]


def test_the_first_pair_of_task_specific_params_is_in_the_report(
    translate: Translate, tmp_path: Path
) -> None:
    assert translate("t5", {}).code == 0
    found = warnings(tmp_path)
    assert "translation_en_to_de" in found["translation-pair-assumed"]
    assert "prefix='translate English to German: '" in found["task-specific-params"]


def test_its_own_pair_needs_no_word(translate: Translate, tmp_path: Path) -> None:
    assert translate("marian", pair("English", "deu_Latn")).code == 0
    assert not {"translation-pair-assumed", "languages-not-told"} & warnings(tmp_path).keys()


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (pair("en", "Germann"), "task.target_language is 'Germann', which is no language: did "),
        (pair("Portugese", "de"), "did you mean Portuguese?"),
        (pair("en", "xx"), "task.target_language is 'xx', which is no language"),
        (pair("en", "fr"), "translates from English to German"),
        (pair("de", "en"), "not from German to English"),
    ],
)
def test_what_is_wrong_is_refused_before_weights_are_read(
    translate: Translate, task: dict[str, str], says: str
) -> None:
    assert says in translate("marian", task, weights=False).mistake()


def test_a_template_overrules_the_files(translate: Translate) -> None:
    assert translate("marian", pair("en", "fr"), prompt={"template": "{{ source }}"}).code == 0
