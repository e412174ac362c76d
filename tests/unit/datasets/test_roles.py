"""Column roles: what is named, what is guessed, what is refused, and the row that comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.errors import BadDataset, CallerError, InvalidSpec, UnknownName, UnsupportedOption
from bakeoff.core.ports import Roles
from bakeoff.core.specs import ColumnsSpec, DatasetSpec
from bakeoff.datasets import open_dataset
from bakeoff.datasets.roles import RoleMap, map_roles
from tests.support import real_data

ROLES = Roles(
    required=("source",),
    optional=("id", "reference", "question", "context", "choices", "group"),
    guesses={
        "source": ("dialogue", "source", "examples", "text"),
        "reference": ("summary", "ground_truth", "answers"),
        "choices": ("choices", "endings"),
        "id": ("id",),
    },
)


def mapped(folder: Path, data: str | list[dict[str, Any]], **columns: Any) -> RoleMap:
    dataset = written(folder, data)
    return map_roles(dataset, ColumnsSpec(**columns), ROLES)


def written(folder: Path, data: str | list[dict[str, Any]]) -> Any:
    name = "t.csv" if isinstance(data, str) else "t.jsonl"
    text = data if isinstance(data, str) else "".join(json.dumps(r) + "\n" for r in data)
    (folder / name).write_text(text, "utf-8")
    return open_dataset(DatasetSpec(path=name), folder)


def codes(found: RoleMap) -> set[str]:
    return {notice.code for notice in found.notices}


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("examples,ground_truth", {"source": "examples", "reference": "ground_truth"}),
        ("Text, Ground-Truth ", {"source": "Text", "reference": " Ground-Truth "}),
        ("text,source,ID", {"source": "source", "id": "ID"}),
        (
            "dialogue,summary1,summary2,topic",
            {"source": "dialogue", "reference": ["summary1", "summary2"]},
        ),
        (
            "source,ending_a,ending_b,summary",
            {"source": "source", "choices": ["ending_a", "ending_b"], "reference": "summary"},
        ),
        ("text,Text,source,x", {"source": "source"}),
    ],
)
def test_guesses_by_name_are_shown(header: str, shown: dict[str, Any], tmp_path: Path) -> None:
    rows = "\n".join(",".join(f"{r}{c}" for c in range(header.count(",") + 1)) for r in "pq")
    found = mapped(tmp_path, f"{header}\n{rows}\n")
    assert found.shown() == shown
    assert found.guessed == set(shown)
    said = next(notice.text for notice in found.notices if notice.code == "columns-guessed")
    assert all(repr(n) in said for v in shown.values() for n in ([v] if isinstance(v, str) else v))
    assert mapped(tmp_path, f"{header}\n{rows}\n", **found.spec().model_dump()).shown() == shown


@pytest.mark.parametrize("off", [{"reference": None}, {"reference": []}, {"reference": ()}])
def test_a_role_that_is_null_is_not_guessed(off: dict[str, Any], tmp_path: Path) -> None:
    data = "id,text,summary\n1,x,y\n"
    found = mapped(tmp_path, data, **off, id=None)
    assert found.shown() == {"source": "text"}
    said = next(notice.text for notice in found.notices if notice.code == "columns-off")
    assert said == "no column is taken as id or reference, as `columns:` says"
    for values in (found.spec().model_dump(exclude_none=True), found.spec().model_dump()):
        assert values == {"source": "text", "id": None, "reference": None}
        assert mapped(tmp_path, data, **values).shown() == {"source": "text"}
    assert ColumnsSpec().model_dump() == {}


def test_a_row_through_its_roles(tmp_path: Path) -> None:
    data = [
        {"k": 7, "t": " x ", "a": "one", "b": "  ", "c": ["p", None, 2, True, 1.50], "g": " "},
        {"k": 8.5, "t": None, "a": ["one", "two"], "b": None, "c": '["p", "q"]', "g": 0},
    ]
    found = mapped(tmp_path, data, id="k", source="t", reference=["a", "b"], choices="c", group="g")
    first, second = (found.row(row) for row in written(tmp_path, data).rows())
    assert (first.id, first.source, first.references) == ("7", " x ", ("one",))
    assert (first.choices, first.group) == (("p", "2", "true", "1.5"), None)
    assert (second.id, second.source, second.references) == ("8.5", "", ("one", "two"))
    assert (second.choices, second.group) == (("p", "q"), "0")
    assert first.cells["c"][0] == "p"
    assert (found.rows, found.with_reference) == (2, 2)
    assert "blank-source" in codes(found)


def test_numbers_are_shown_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"text": 1.10, "summary": 12345678901234567890.50}\n')
    dataset = open_dataset(DatasetSpec(path="t.jsonl"), tmp_path)
    row = map_roles(dataset, ColumnsSpec(), ROLES).row(next(dataset.rows()))
    assert (row.source, row.references) == ("1.10", ("12345678901234567890.50",))


def test_roles_reach_into_objects(tmp_path: Path) -> None:
    data = [
        {"translation": {"en": "x", "de": "y"}, "answers": {"text": ["p", "q"], "start": [1, 2]}},
        {"translation": {"en": "z", "de": "w"}, "answers": {"text": [], "start": []}},
    ]
    found = mapped(tmp_path, data, source="translation.en")
    assert found.shown() == {"source": "translation.en", "reference": "answers.text"}
    rows = [found.row(row) for row in written(tmp_path, data).rows()]
    assert [(r.source, r.references) for r in rows] == [("x", ("p", "q")), ("z", ())]
    listed = [{"text": "x", "answers": [{"text": "p"}, {"text": "q"}]}]
    found = mapped(tmp_path, listed)
    assert found.row(next(written(tmp_path, listed).rows())).references == ("p", "q")


@pytest.mark.parametrize(
    ("data", "columns", "kind", "words"),
    [
        ("a,b\n1,2\n", {}, InvalidSpec, ("'source'", "columns: {source: COLUMN}", "'a', 'b'")),
        ("Text,text_,b\n1,2,3\n", {}, InvalidSpec, ("several columns", "'Text', 'text_'")),
        ("Dialogue,b\n1,2\n", {"source": "dialogue"}, UnknownName, ("did you mean 'Dialogue'",)),
        ("text,b\n1,2\n", {"reference": ["b", "zz"]}, UnknownName, ("'zz'", "'text', 'b'")),
        ("id,text\nx,1\ny,2\nx,3\n", {"id": "id"}, BadDataset, ("'x'", "line 2 and line 4")),
        ("id,text\nx,1\n ,2\n", {"id": "id"}, BadDataset, ("line 3", "blank")),
        ("text,c\nx,yes;no\n", {"choices": "c"}, BadDataset, ("line 2", "a list is due")),
        ([{"text": "x"}, {"text": ["y"]}], {}, BadDataset, ("line 2", "a list where a text")),
        (
            [{"text": {"en": "x"}, "b": 1}],
            {"source": "text"},
            BadDataset,
            ("line 1", "an object", "text.KEY"),
        ),
        ([{"t": {"en": "x"}}], {}, InvalidSpec, ("'t.en'",)),
        ("text,b\n1,2\n", {"source": None}, InvalidSpec, ("'source'", "says that it has none")),
    ],
)
def test_refusals(
    data: Any,
    columns: dict[str, Any],
    kind: type[CallerError],
    words: tuple[str, ...],
    tmp_path: Path,
) -> None:
    with pytest.raises(kind) as refusal:
        mapped(tmp_path, data, **columns)
    assert all(word in refusal.value.message for word in words)


def test_a_role_that_the_task_lacks_is_refused(tmp_path: Path) -> None:
    roles = Roles(("source",), ("id", "reference"), {"source": ("text",)})
    dataset = written(tmp_path, "text,q\n1,2\n")
    with pytest.raises(UnsupportedOption, match=r"columns\.question") as refusal:
        map_roles(dataset, ColumnsSpec(question="q"), roles)
    assert refusal.value.option == "columns.question"


@pytest.mark.parametrize("ids", [("x", "x"), ("x", "")])
def test_a_guessed_id_that_is_none_numbers_the_rows(ids: tuple[str, ...], tmp_path: Path) -> None:
    data = "id,text\n" + "".join(f"{one},t\n" for one in ids)
    found = mapped(tmp_path, data)
    assert "id-not-used" in codes(found)
    assert "id" not in found.shown()
    assert [found.row(r).id for r in written(tmp_path, data).rows()] == ["1", "2"]


@pytest.mark.parametrize(
    ("cells", "with_reference", "code"),
    [
        (("", "", ""), 0, "no-references"),
        ((" ", "\t", "\u00a0"), 0, "no-references"),
        (("x", "", " "), 1, "references-missing"),
        (("NA", "null", "0"), 3, ""),
    ],
)
def test_blank_references_are_none(
    cells: tuple[str, ...], with_reference: int, code: str, tmp_path: Path
) -> None:
    data = "text,summary\n" + "".join(f"t,{cell}\n" for cell in cells)
    found = mapped(tmp_path, data)
    assert (found.rows, found.with_reference) == (3, with_reference)
    assert codes(found) - {"columns-guessed"} == ({code} if code else set())


@pytest.mark.parametrize(
    ("name", "rows", "with_reference"),
    [
        ("dialogsum_mini_no_gt.csv", 5, 0),
        ("dialogsum_mini_all_gt_is_whitespace.csv", 2, 0),
        ("dialogsum_mini_some_missing_some_whitespace_gt.csv", 2, 1),
        ("dialogsum_exc.csv", 5, 5),
    ],
)
def test_real_files_with_and_without_references(name: str, rows: int, with_reference: int) -> None:
    path = real_data(f"lumigator/{name}")
    dataset = open_dataset(DatasetSpec(path=str(path)), path.parent)
    found = map_roles(dataset, ColumnsSpec(), ROLES)
    assert (found.rows, found.with_reference) == (rows, with_reference)
