"""A model entry with everything resolved."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.errors import UnsupportedOption
from bakeoff.core.specs import ModelEntry, RunSpec
from bakeoff.engines.proven import mode_of
from bakeoff.jobs.contender import Contender, make_contender, model_ref
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


def test_each_of_several_adapters_lies_beside_the_spec(tmp_path: Path) -> None:
    entry = ModelEntry.model_validate({"model": "./m", "adapter": ["./a", "hf://org/b"]})
    for name in ("m", "a"):
        (tmp_path / name).mkdir()
    assert model_ref(entry, tmp_path).adapter == (f"file://{tmp_path}/a", "hf://org/b")


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
            "models": [{"model": str(zoo_path("t5")), "num_beams": 3, "length_penalty": 0.5}],
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


def _made(tmp_path: Path, **entry: Any) -> Contender:
    spec = RunSpec.model_validate(
        {
            "name": "s",
            "dataset": "d.csv",
            "task": "text-generation",
            "models": [{"model": str(zoo_path("t5")), "accelerator": "cpu", **entry}],
        }
    )
    return make_contender(spec, spec.models[0], "t5", build_task(spec.task), tmp_path)


@pytest.fixture
def proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy text alone is proven."""
    monkeypatch.setattr(
        "bakeoff.engines.route.standing",
        lambda engine, family, params: "equal" if mode_of(params) == "greedy" else "unproven",
    )


def test_the_engine_hangs_on_the_resolved_settings(tmp_path: Path, proven: None) -> None:
    assert _made(tmp_path).route.engine == "ctranslate2"
    assert _made(tmp_path, num_beams=2, early_stopping=True).route.engine == "transformers"
    assert _made(tmp_path, temperature=0.5).route.engine == "transformers"
    assert _made(tmp_path, torch_dtype="bfloat16").route.engine == "transformers"


def test_proven_rows_share_their_keys_with_those_of_transformers(
    tmp_path: Path, proven: None
) -> None:
    plain = _made(tmp_path, engine="transformers")
    assert _made(tmp_path).parts == plain.parts
    assert _made(tmp_path, engine="ctranslate2").parts == plain.parts
    assert _made(tmp_path, compute_type="float32").parts == plain.parts
    other = _made(tmp_path, engine="ctranslate2", min_new_tokens=3)
    assert other.parts.values["numerics"].startswith("ctranslate2 ")
    reduced = _made(tmp_path, compute_type="int8")
    assert reduced.parts.values["numerics"].startswith("ctranslate2 ")
    assert reduced.parts.values["compute_type"] == "int8"
    assert reduced.facts.numerics == reduced.parts.values["numerics"]


def test_an_engine_that_cannot_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOption, match=r"early_stopping.*engine: auto"):
        _made(tmp_path, engine="ctranslate2", num_beams=2)
