"""What `profile` sees: lengths, scripts, repetitions, problems."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset
from bakeoff.datasets.profile import DataProfile, profile
from bakeoff.datasets.scripts import scripts_of
from tests.support import real_data


def profiled(folder: Path, text: str, name: str = "t.csv") -> DataProfile:
    (folder / name).write_text(text, "utf-8")
    return profile(open_dataset(DatasetSpec(path=name), folder))


def test_columns_are_counted(tmp_path: Path) -> None:
    rows = [f"{n},{'x' * n},{'even' if n % 2 == 0 else 'odd'}," for n in range(1, 21)]
    found = profiled(tmp_path, "key,text,kind,none\n" + "\n".join([*rows, rows[0]]) + "\n")
    key, text, kind, none = found.columns
    assert (found.rows, found.identical_rows) == (21, 1)
    assert (text.shortest, text.median, text.p95, text.longest) == (1, 10, 19, 20)
    assert (text.filled, text.distinct, text.repeated) == (21, 20, 1)
    assert (none.filled, none.blank, none.distinct, none.median) == (0, 21, 0, 0)
    assert (key.kinds, kind.distinct) == ({"text": 21}, 2)
    assert found.groups == ("kind",)
    assert found.ids == ()
    assert key.samples == ("1", "2", "3")
    assert json.loads(json.dumps(asdict(found)))["columns"][1]["p95"] == 19


def test_kinds_of_json_values(tmp_path: Path) -> None:
    found = profiled(tmp_path, '{"a": 1, "b": ["x"]}\n{"a": "t", "b": {"k": null}}\n', "t.jsonl")
    assert [column.kinds for column in found.columns] == [
        {"number": 1, "text": 1},
        {"list": 1, "object": 1},
    ]
    assert found.columns[1].samples == ('["x"]', '{"k":null}')
    assert found.ids == ("a", "b")


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("Hello", {"Latin"}),
        ("Grüße, ça va?", {"Latin"}),
        ("Привет", {"Cyrillic"}),
        ("مرحبا", {"Arabic"}),
        ("नमस्ते दुनिया", {"Devanagari"}),
        ("今天天气很好", {"Han"}),
        ("これはペンです", {"Hiragana", "Katakana"}),
        ("안녕하세요", {"Hangul"}),
        ("Γειά σου", {"Greek"}),
        ("שלום", {"Hebrew"}),
        ("สวัสดี", {"Thai"}),
        ("Hello Привет", {"Latin", "Cyrillic"}),
        ("12.5 %", set()),
        ("", set()),
        ("ᏣᎳᎩ", {"Other"}),
    ],
)
def test_scripts(text: str, scripts: set[str]) -> None:
    assert scripts_of(text) == scripts


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        (" x", "outer-blanks"),
        ("NA", "spells-nothing"),
        ("a\x07b", "control-characters"),
        ("a\ufffdb", "replacement-characters"),
        ("cafÃ©", "mojibake"),
        ("â€œhi", "mojibake"),
        ("a\u200bb", "invisible"),
        ("y" * 100_001, "very-long"),
    ],
)
def test_problems_are_named_with_their_first_line(cell: str, code: str, tmp_path: Path) -> None:
    found = profiled(tmp_path, f"a,b\nx,fine\n{cell},é good: Ça, Ã\n".replace(", ", "; "))
    (problem,) = found.columns[0].problems
    assert (problem.code, problem.rows, problem.first) == (code, 1, 3)
    assert not found.columns[1].problems


def test_real_mojibake_is_seen_and_kept() -> None:
    path = real_data("hf_tests_samples/xsum_sample.json")
    found = profile(open_dataset(DatasetSpec(path=str(path)), path.parent))
    assert "mojibake" in {p.code for column in found.columns for p in column.problems}
