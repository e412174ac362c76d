"""Quantised, adapted and spread models in one run: the report shows what was used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.commands import bakeoff
from tests.support import part
from tests.unit.engines.loading.lora import save_lora
from tests.zoo import zoo_inputs, zoo_path

pytestmark = pytest.mark.torch


def spec(folder: Path) -> Path:
    """Five ways to load one model, on four rows."""
    rows = zoo_inputs("qwen2", 4)
    lines = [json.dumps({"id": n, "text": text}) for n, text in enumerate(rows)]
    (folder / "d.jsonl").write_text("\n".join(lines), encoding="utf-8")
    model = {"model": str(zoo_path("qwen2")), "max_new_tokens": 20}
    ways: dict[str, dict[str, Any]] = {
        "plain": {},
        "four": {"load_in_4bit": True},
        "eight": {"load_in_8bit": True},
        "adapted": {"adapter": ["lora/a", "./lora/b"]},
        "spread": {"device_map": "auto", "max_memory": {"cpu": "700KB"}},
    }
    said = {
        "name": "ways",
        "dataset": "d.jsonl",
        "columns": {"id": "id", "source": "text"},
        "task": "text-generation",
        "metrics": ["length"],
        "models": [{"id": name, **model, **options} for name, options in ways.items()],
    }
    path = folder / "ways.yaml"
    path.write_text(yaml.safe_dump(said))
    return path


def test_the_report_shows_what_was_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part("bitsandbytes")
    part("peft")
    for seed, name in enumerate("ab"):
        save_lora(tmp_path / "lora" / name, "qwen2", seed=seed)
    path = spec(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = bakeoff("run", path)
    assert done.code == 0, done
    report = json.loads((tmp_path / "runs" / "ways" / "report.json").read_text())
    models = report["models"]
    assert {name: model["done"] for name, model in models.items()} == dict.fromkeys(models, 4)
    assert {name: model["dtype"] for name, model in models.items()} == {
        "plain": "float32",
        "four": "bnb-4bit",
        "eight": "bnb-8bit",
        "adapted": "float32",
        "spread": "float32",
    }
    assert models["four"]["numerics"].startswith("bitsandbytes ")
    assert models["plain"]["numerics"] == models["spread"]["numerics"] == "exact"
    lora = tmp_path / "lora"
    assert models["adapted"]["adapters"] == [f"file://{lora}/a", f"file://{lora}/b"]
    assert (models["spread"]["device"], models["plain"]["device"]) == ("cpu, disk", "cpu")
    warned = {warning["code"] for warning in report["warnings"]}
    assert {"placement", "8bit-batches"} <= warned
    page = (tmp_path / "runs" / "ways" / "report.html").read_text(encoding="utf-8")
    for shown in ("bnb-4bit", "bnb-8bit", "cpu, disk", "lora/a, file://"):
        assert shown in page
    rows = [json.loads(line) for line in _predictions(tmp_path)]
    by_model = {m: [r["text"] for r in rows if r["model"] == m] for m in models}
    assert by_model["plain"] == by_model["spread"] != by_model["adapted"]
    frozen = yaml.safe_load((tmp_path / "runs" / "ways" / "spec.yaml").read_text())
    assert frozen["models"][3]["adapter"] == [f"file://{lora}/a", f"file://{lora}/b"]
    again = bakeoff("run", path, "--json")
    assert again.code == 0 and not [e for e in again.events() if e["event"] == "ModelLoading"]


def _predictions(folder: Path) -> list[str]:
    """One JSON line for each row of each model, in order."""
    found = []
    for path in sorted((folder / "runs" / "ways" / "rows").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            found.append(json.dumps({"model": path.parent.name, **json.loads(line)}))
    return sorted(found, key=lambda line: json.loads(line)["row"])
