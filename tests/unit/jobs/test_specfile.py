"""Specs: short forms, and every kind of mistake with the path of its key."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.core.errors import InvalidSpec
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
