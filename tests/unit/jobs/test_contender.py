"""A model entry with everything resolved."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from bakeoff.core.specs import ModelEntry, RunSpec
from bakeoff.jobs.contender import make_contender, model_ref
from bakeoff.tasks import build_task


@pytest.mark.parametrize("option", ["tokenizer", "adapter"])
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("./part", "file://{base}/part"),
        ("part", "file://{base}/part"),
        ("hf://org/name@main", "hf://org/name@main"),
    ],
)
def test_parts_lie_beside_the_spec(tmp_path: Path, option: str, said: str, found: str) -> None:
    (tmp_path / "part").mkdir()
    entry = ModelEntry.model_validate({"model": "./m", option: said})
    assert getattr(model_ref(entry, tmp_path), option) == found.format(base=tmp_path)


@pytest.mark.parametrize("strict", [True, False])
def test_strict_engine_names_the_version(strict: bool, tmp_path: Path) -> None:
    spec = RunSpec.model_validate(
        {
            "name": "s",
            "dataset": "d.csv",
            "task": "summarization",
            "strict_engine": strict,
            "models": ["fake://echo"],
        }
    )
    made = make_contender(spec, spec.models[0], "echo", build_task(spec.task), tmp_path)
    version = importlib.metadata.version("bakeoff")
    assert made.parts.values["engine"] == (f"fake of bakeoff {version}" if strict else None)
