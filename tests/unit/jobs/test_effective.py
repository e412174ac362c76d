"""Settings without effect are told where the spec says them, and are no part of the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.specs import RunSpec
from bakeoff.jobs.contender import Contender, make_contender
from bakeoff.tasks import build_task
from tests.zoo import zoo_path


def contender(tmp_path: Path, entry: dict[str, Any], **spec: Any) -> Contender:
    values = {"name": "s", "dataset": "d.csv", "task": "text-generation", "models": [entry], **spec}
    parsed = RunSpec.model_validate(values)
    return make_contender(parsed, parsed.models[0], "m", build_task(parsed.task), tmp_path)


def told(made: Contender) -> list[str]:
    return [n.text for n in made.facts.notices if n.code == "setting-without-effect"]


def test_greedy_text_needs_no_settings_of_sampling_and_one_beam_none_of_beams(
    tmp_path: Path,
) -> None:
    plain = contender(tmp_path, {"model": "fake://echo"})
    entry = {"model": "fake://echo", "top_p": 0.9, "length_penalty": 2.0}
    made = contender(tmp_path, entry, generation={"seed": 3})
    assert told(made) == [
        "seed, top_p changes nothing, since temperature is 0",
        "length_penalty changes nothing, since num_beams is 1",
    ]
    assert made.parts.digest == plain.parts.digest
    assert not {"top_p", "seed", "length_penalty"} & set(made.decoding.params.said())
    sampled = contender(tmp_path, {"model": "fake://echo", "temperature": 1.0, "top_p": 0.9})
    assert told(sampled) == [] and sampled.decoding.params.top_p == 0.9


@pytest.mark.parametrize(
    ("entry", "task", "columns", "why"),
    [
        (
            {"model": str(zoo_path("qwen2"))},
            {"kind": "multiple-choice", "method": "likelihood"},
            ("temperature", "stop"),
            "scored by their likelihood",
        ),
        ({"model": "baseline://copy"}, "summarization", ("temperature",), "not asked to write"),
        (
            {"model": str(zoo_path("classifier"))},
            "text-classification",
            ("temperature",),
            "not asked to write",
        ),
    ],
)
def test_what_writes_nothing_has_no_settings(
    tmp_path: Path, entry: dict[str, Any], task: Any, columns: tuple[str, ...], why: str
) -> None:
    said = {"temperature": 0.9, "stop": ["x"]}
    made = contender(tmp_path, {**entry, **{name: said[name] for name in columns}}, task=task)
    (text,) = told(made)
    assert why in text and all(name in text for name in columns)
    assert made.decoding.params.said() == {}
    assert made.origins == {}


def test_settings_for_all_models_pass_over_a_baseline_in_silence(tmp_path: Path) -> None:
    made = contender(
        tmp_path, {"model": "baseline://copy"}, task="summarization",
        generation={"max_new_tokens": 9},
    )  # fmt: skip
    assert told(made) == [] and made.decoding.params.said() == {}
