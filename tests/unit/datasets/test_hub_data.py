"""`hf://datasets/...` against the test hub: configurations, splits, revisions, access."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.errors import DependencyMissing
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset
from tests.hub import VALID_TOKEN, Hub
from tests.support import part

ASK = """
import json, sys
from pathlib import Path
from bakeoff.core.errors import BakeoffError
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset
said = []
for options in json.loads(sys.argv[1]):
    try:
        found = open_dataset(DatasetSpec(**options), Path.cwd())
        said.append([found.columns, [row.cells["x"] for row in found.rows()], found.content_hash()])
        said[-1].append(found.revision)
    except BakeoffError as error:
        said.append(error.message)
print(json.dumps(said))
"""


def folder(root: Path, name: str, **files: str) -> Path:
    made = root / name
    made.mkdir()
    for file, text in files.items():
        (made / f"{file}.jsonl").write_text("".join(json.dumps({"x": x}) + "\n" for x in text))
    return made


def test_data_sets_of_the_hub(hub: Hub, tmp_path: Path) -> None:
    part("datasets")
    first = folder(tmp_path, "first", train="ab")
    hub.add_dataset("org/one", first, revisions={"next": folder(tmp_path, "next", train="c")})
    hub.add_dataset("org/two", folder(tmp_path, "two", train="ab", test="c"))
    hub.add_dataset("org/closed", first, gated=True)
    questions: list[dict[str, Any]] = [
        {"path": "hf://datasets/org/one"},
        {"path": "hf://datasets/org/one@next"},
        {"path": "hf://datasets/org/one", "revision": "next", "limit": 1},
        {"path": "hf://datasets/org/two"},
        {"path": "hf://datasets/org/two", "split": "tests"},
        {"path": "hf://datasets/org/two", "split": "test"},
        {"path": "hf://datasets/org/one", "config": "german"},
        {"path": "hf://datasets/org/none"},
        {"path": "hf://datasets/org/one", "revision": "gone"},
        {"path": "hf://datasets/org/closed"},
    ]
    said = ask(hub, questions)
    plain = open_dataset(DatasetSpec(path="train.jsonl"), first)
    states = [hub.commit("org/one", name, kind="dataset") for name in ("main", "next")]
    commit = states[0]
    assert said[0] == [["x"], ["a", "b"], plain.content_hash(), commit]
    assert said[1][1] == said[2][1] == ["c"]
    assert "split: with one of train, test" in said[3]
    assert "did you mean 'test'" in said[4]
    assert said[5][1] == ["c"]
    assert "no config 'german'" in said[6]
    assert "the Hub does not give it" in said[7]
    assert "'gone'" in said[8]
    assert "HF_TOKEN" in said[9]
    offline = [questions[0], {**questions[0], "revision": commit}, questions[8]]
    said_offline = ask(hub, [*offline, questions[5], questions[7]], HF_HUB_OFFLINE="1")
    assert f"write revision: with one of {', '.join(sorted(states))}" in said_offline[0]
    assert f"{states[0]} was asked for" in said_offline[1]
    assert "which state 'gone' is" in said_offline[2]
    assert said_offline[3] == said[5]
    assert "cannot be reached" in said_offline[4]
    assert ask(hub, [questions[9]], HF_TOKEN=VALID_TOKEN)[0][1] == ["a", "b"]


def ask(hub: Hub, questions: list[dict[str, Any]], **environment: str) -> Any:

    done = subprocess.run(
        [sys.executable, "-c", ASK, json.dumps(questions)],
        env={**hub.env(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_without_the_library_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DependencyMissing, match=r"pip install 'bakeoff\[hub-data\]'"):
        open_dataset(DatasetSpec(path="hf://datasets/org/name"), tmp_path)
