"""A model entry with everything resolved."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from bakeoff.core.specs import ModelEntry, RunSpec
from bakeoff.jobs.contender import make_contender, model_ref
from bakeoff.tasks import build_task
from tests.zoo import zoo_path


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


def test_origins_name_what_won(tmp_path: Path) -> None:
    """A value of the spec is not put down to the checkpoint that it overrides."""
    spec = RunSpec.model_validate(
        {
            "name": "s",
            "dataset": "d.csv",
            "task": "summarization",
            "generation": {"max_new_tokens": 30, "length_penalty": 2.0},
            "models": [{"model": str(zoo_path("t5")), "num_beams": 1, "length_penalty": 0.5}],
        }
    )
    made = make_contender(spec, spec.models[0], "t5", build_task(spec.task), tmp_path)
    checkpoint = "task_specific_params.summarization"
    assert made.origins == {
        "max_new_tokens": "generation",
        "min_new_tokens": checkpoint,
        "temperature": "default",
        "num_beams": "model entry",
        "early_stopping": checkpoint,
        "length_penalty": "model entry",
    }
    assert made.origins.keys() == made.decoding.params.said().keys()
