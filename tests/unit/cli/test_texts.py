"""What the command line makes of names, sizes and texts that others chose."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bakeoff.cli.building import column_ids, pairs
from bakeoff.cli.drafting import Wishes, draft
from bakeoff.cli.plain import one_line
from bakeoff.cli.sizes import parse_size
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.specs import RunSpec
from bakeoff.jobs.specfile import load_spec


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\nc\td", "a b  c d"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("abc\u202edef", "abc\\u202edef"),
        ("half \ud800", "half \\ud800"),
        ("line\u2028end", "line\\u2028end"),
        ("नमस्ते 漢字 \u00a0\u3000 👩\u200d🔬 مرحبا", "नमस्ते 漢字 \u00a0\u3000 👩\u200d🔬 مرحبا"),
    ],
)
def test_one_line(text: str, shown: str) -> None:
    assert one_line(text) == shown


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("5GB", 5 * 10**9),
        ("500 MiB", 500 * 2**20),
        ("1.5k", 1500),
        ("0", 0),
        ("9" * 30, 10**30 - 1),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "five", "-1GB", "1e9", "5 GB GB", "nan", "٣GB", "9" * 5000])
def test_no_sizes(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is no size"):
        parse_size(text)


def test_pairs() -> None:
    assert pairs(["a=b=c", "d="], "--column") == {"a": "b=c", "d": ""}
    for flags in (["a"], ["=a"], ["a=1", "a=2"]):
        with pytest.raises(InvalidRequest):
            pairs(flags, "--column")


def test_columns_get_ids_that_differ() -> None:
    columns = ("a b", "a-b", "A_B", "a-b-2", "ответ", "我", "..", "x" * 300)
    ids = column_ids(columns)
    assert list(ids) == list(columns)
    assert len({i.casefold() for i in ids.values()}) == len(columns)
    models = [{"id": i, "model": "fake://echo"} for i in ids.values()]
    RunSpec.model_validate({"name": "x", "dataset": "d", "task": "custom", "models": models})


HOSTILE = (
    "text\nmax_failures: 0",
    "b: c # d",
    '"]}',
    "- x",
    "yes",
    "null",
    "1",
    "*a",
    "&a",
    "!b",
    "%",
    "{x",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_init_writes_what_it_was_told_whatever_the_names(tmp_path: Path, name: str) -> None:
    check_draft(tmp_path, name)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1).filter(str.strip)
)
def test_init_round_trip(tmp_path: Path, name: str) -> None:
    check_draft(tmp_path, name)


def check_draft(folder: Path, column: str) -> None:
    if column.casefold().startswith(("\ufeff", "sep=")) or column in ("id", "zz"):
        return
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([[column, "zz"], ["a", "b"]])
    data = folder / "a b: #c.csv"
    data.write_text(text.getvalue(), encoding="utf-8", newline="")
    wishes = Wishes(
        data=str(data),
        beside=folder,
        task="text-generation",
        models=("fake://echo", f"./{column}"),
        columns={"source": column, "reference": "zz"},
        name="x",
        ask=False,
    )
    spec_file = folder / "spec.yaml"
    spec_file.write_text(draft(wishes).text, encoding="utf-8")
    spec = load_spec(spec_file)
    assert spec.columns.source == column
    assert spec.columns.reference == ("zz",)
    assert spec.dataset.path == data.name
    assert [m.model for m in spec.models] == ["fake://echo", f"./{column}"]
    assert spec.max_failures is None
