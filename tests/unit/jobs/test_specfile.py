"""Specs: short forms, and every kind of mistake with the path of its key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.specs import (
    DatasetSpec,
    DecideSpec,
    GenerationSpec,
    ModelEntry,
    RunSpec,
    TaskSpec,
)
from bakeoff.jobs.specfile import load_spec, parse_spec

SMALL = {
    "name": "x",
    "dataset": "d.csv",
    "task": "summarization",
    "models": ["fake://echo"],
}


def test_short_forms_are_the_long_ones() -> None:
    short = parse_spec({**SMALL, "metrics": ["rouge", {"name": "bertscore", "model": "m"}]})
    assert short.dataset.path == "d.csv"
    assert short.task.kind == "summarization"
    assert short.models[0].model == "fake://echo"
    assert short.metrics is not None
    assert short.metrics[1].options == {"model": "m"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"modles": []}, "modles: unknown key; did you mean models?"),
        ({"models": []}, "models"),
        ({"models": [{"id": "a"}]}, r"models\[0\].*needs `model:`"),
        ({"models": [{"model": "m", "max_new_token": 3}]}, "did you mean max_new_tokens"),
        ({"models": [{"model": "m", "temperature": -1}]}, r"models\[0\].temperature is -1"),
        ({"generation": {"top_p": 2}}, "generation.top_p is 2"),
        ({"name": "../x"}, "name: '../x' is used as a folder name"),
        ({"repeats": 0}, "repeats is 0"),
        ({"dataset": {"path": "d", "delimiter": ";;"}}, "one character"),
        ({"dataset": {"path": "d", "seperator": ";"}}, "dataset.seperator: unknown key"),
        ({"truncate": "yes"}, "truncate is 'yes'"),
        ({"decide": {"estimand": "x"}}, "decide.estimand"),
    ],
)
def test_mistakes_name_their_key(change: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidSpec, match=said):
        parse_spec({**SMALL, **change})


def strict_fields() -> Iterator[tuple[str, str]]:
    """Path and kind of every field of a spec that takes a number or a flag."""
    places: dict[str, type[BaseModel]] = {
        "": RunSpec,
        "dataset.": DatasetSpec,
        "task.": TaskSpec,
        "generation.": GenerationSpec,
        "decide.": DecideSpec,
        "models[0].": ModelEntry,
    }
    for place, part in places.items():
        for name, field in part.model_fields.items():
            kinds = {*get_args(field.annotation), field.annotation}
            plain = {(get_origin(kind) and get_args(kind)[0]) or kind for kind in kinds}
            for kind in {int, float, bool} & plain:
                yield place + name, kind.__name__


def test_all_numbers_and_flags_of_a_spec_are_found() -> None:
    found = dict(strict_fields())
    assert len(found) > 40
    for path, kind in {
        "repeats": "int",
        "max_failures": "int",
        "strict_engine": "bool",
        "dataset.limit": "int",
        "task.no_answer": "bool",
        "generation.temperature": "float",
        "generation.early_stopping": "bool",
        "decide.margin": "float",
        "models[0].trust_remote_code": "bool",
        "models[0].limit": "int",
    }.items():
        assert found[path] == kind


WRONG = {
    "int": {True: "True", "2": "'2'", "two": "'two'", 1.5: "1.5"},
    "float": {True: "True", "0.5": "'0.5'", "half": "'half'"},
    "bool": {1: "1", 0: "0", "true": "'true'", "yes": "'yes'", "no": "'no'", "on": "'on'"},
}
WISH = {"int": "write a whole number", "float": "write a number", "bool": "write true or false"}


@pytest.mark.parametrize(("path", "kind"), strict_fields())
def test_numbers_and_flags_are_not_taken_from_what_looks_like_them(path: str, kind: str) -> None:
    place, _, name = path.rpartition(".")
    for value, shown in WRONG[kind].items():
        spec: dict[str, Any] = {**SMALL, "dataset": {"path": "d"}, "task": {"kind": "custom"}}
        spec["models"] = [{"model": "m"}]
        own = spec["models"][0] if place == "models[0]" else spec.setdefault(place, {})
        (own if place else spec)[name] = value
        if not place:
            del spec[""]
        with pytest.raises(InvalidSpec) as caught:
            parse_spec(spec)
        quoted = isinstance(value, str) and value in ("2", "0.5", "true")
        said = f"{path} is {shown}: {WISH[kind]}" + (", without quotes" if quoted else "")
        assert said in str(caught.value)


def test_flags_and_numbers_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    head = "name: x\ndataset: d.csv\ntask: summarization\nmodels: [fake://echo]\n"
    path.write_text(head + "strict_engine: yes\nrepeats: '2'\n")
    with pytest.raises(InvalidSpec) as caught:
        load_spec(path)
    assert "line 5: strict_engine is 'yes': write true or false" in str(caught.value)
    assert "line 6: repeats is '2': write a whole number, without quotes" in str(caught.value)
    path.write_text(head + "strict_engine: TRUE\ngeneration: {temperature: 1e-3, top_p: 1}\n")
    spec = load_spec(path)
    assert (spec.strict_engine, spec.generation.temperature) == (True, 0.001)


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(InvalidSpec, match="task: missing; nmae"):
        parse_spec({"nmae": "x", "name": "x", "dataset": "d", "models": ["m"]})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "is not YAML"),
        ("- 1", "holds no mapping"),
        ("", "holds no mapping"),
        ("name: a\nname: b\n", "'name' stands here twice"),
        ("x: !!python/object/apply:os.system [ls]", "is not YAML"),
        ("[" * 2000, "is not YAML"),
    ],
)
def test_files_that_are_no_spec(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(InvalidSpec, match=said):
        load_spec(path)


def test_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidSpec, match="bakeoff init"):
        load_spec(tmp_path / "none.yaml")


def test_yes_and_no_stay_words(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: x\ndataset: d.csv\nmodels: [fake://echo]\n"
        "task: {kind: text-classification, labels: [yes, no, on]}\n"
    )
    assert load_spec(path).task.labels == ("yes", "no", "on")


def test_a_key_in_the_spec_is_never_echoed() -> None:
    with pytest.raises(InvalidSpec) as caught:
        parse_spec({**SMALL, "models": [{"model": "m", "api_key": ["sk-canary"]}]})
    assert "sk-canary" not in str(caught.value)
