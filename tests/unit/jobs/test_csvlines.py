"""CSV with any cell reads back as it was, through Python's reader and bakeoff's own."""

import csv
import io
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset
from bakeoff.jobs.csvlines import CsvLines

CELL = st.text(st.sampled_from('a\r\n",; \u2028\x85é'), max_size=6)


def written(rows: list[list[str]]) -> str:
    file = io.StringIO(newline="")
    lines = CsvLines(file)
    for row in rows:
        lines.write(row)
    return file.getvalue()


@given(st.lists(st.tuples(CELL, CELL).map(list), min_size=1, max_size=5))
def test_every_cell_comes_back(rows: list[list[str]]) -> None:
    assert list(csv.reader(io.StringIO(written(rows), newline=""))) == rows


def test_a_lone_carriage_return_comes_back_through_bakeoff(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(written([["id", "x"], ["1", "a\rb"], ["2", "c"]]), newline="")
    rows = open_dataset(DatasetSpec(path="d.csv"), tmp_path).rows()
    assert [row.cells["x"] for row in rows] == ["a\rb", "c"]


def test_plain_rows_stay_plain() -> None:
    assert written([["a", "b c"], ["d\re", "f"]]) == 'a,b c\n"d\re","f"\n'
