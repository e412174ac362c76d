"""The contract of `Dataset`, over every format: one table, one set of rows, one hash."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.core.canonical import digest
from bakeoff.core.ports import Dataset
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import FORMATS, open_dataset

COLUMNS = ("id", "Quelltext", "答え")
CELLS = [
    ("001", "Zeile eins\nZeile zwei, mit Komma", "今天"),
    ("NA", 'sagte "ja"; nein', ""),
    ("1.0", "\ufeffmit Marke\ttab | pipe", "null"),
] * 300


def _delimited(delimiter: str) -> str:
    quoted = (['"' + cell.replace('"', '""') + '"' for cell in row] for row in [COLUMNS, *CELLS])
    return "".join(delimiter.join(row) + "\r\n" for row in quoted)


def _objects() -> list[dict[str, str]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in CELLS]


def _lines() -> str:
    return "".join(json.dumps(row) + "\n" for row in _objects())


def _table() -> pa.Table:
    return pa.Table.from_pylist(_objects())


def _saved(folder: Path) -> None:
    folder.mkdir()
    with pa.ipc.new_stream(str(folder / "d.arrow"), _table().schema) as out:
        out.write_table(_table())
    (folder / "state.json").write_text('{"_data_files": [{"filename": "d.arrow"}]}')


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "csv": ("t.csv", lambda path: path.write_bytes(_delimited(";").encode("utf-16"))),
    "tsv": ("t.tsv", lambda path: path.write_bytes(_delimited("\t").encode())),
    "jsonl": ("t.jsonl", lambda path: path.write_text(_lines())),
    "json": ("t.json", lambda path: path.write_text(json.dumps(_objects(), indent=1))),
    "parquet": ("t.parquet", lambda path: pq.write_table(_table(), path, row_group_size=70)),
    "datasets": ("t", _saved),
}


@pytest.fixture(params=sorted(WRITERS))
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> DatasetSpec:
    name, write = WRITERS[request.param]
    write(tmp_path / name)
    return DatasetSpec(path=str(tmp_path / name))


def test_every_format_is_here() -> None:
    assert set(WRITERS) == set(FORMATS)


def test_rows_columns_and_hash_are_the_same_through_every_format(spec: DatasetSpec) -> None:
    dataset: Dataset = open_dataset(spec, Path())
    assert dataset.columns == COLUMNS
    assert dataset.name == Path(spec.path).name
    rows = list(dataset.rows())
    assert [tuple(row.cells.values()) for row in rows] == CELLS
    assert [tuple(row.cells) for row in rows[:2]] == [COLUMNS, COLUMNS]
    assert [row.index for row in rows] == list(range(len(CELLS)))
    assert dataset.content_hash() == digest([COLUMNS, *CELLS])


def test_rows_come_again_and_two_readers_do_not_disturb_each_other(spec: DatasetSpec) -> None:
    dataset = open_dataset(spec, Path())
    first, second = dataset.rows(), dataset.rows()
    assert next(first) == next(second)
    assert next(first) == next(second)
    assert list(first) == list(second)
    assert list(dataset.rows()) == list(dataset.rows())


def test_lines_lead_to_the_row(spec: DatasetSpec) -> None:
    dataset = open_dataset(spec, Path())
    lines = [row.line for row in dataset.rows()]
    if spec.path.endswith(("parquet", "t")):
        assert set(lines) == {None}
        return
    encoding = "utf-16" if spec.path.endswith(".csv") else "utf-8"
    text = Path(spec.path).read_text(encoding).split("\n")
    assert lines == sorted(set(lines))
    for row in list(dataset.rows())[::50]:
        assert row.line is not None
        near = "\n".join(text[row.line - 1 : row.line + 2])
        assert row.cells["id"] in near


def test_selection_is_part_of_the_hash(spec: DatasetSpec) -> None:
    def opened(**options: int) -> Dataset:
        return open_dataset(spec.model_copy(update=options), Path())

    assert opened(limit=900).content_hash() == opened().content_hash()
    assert opened(limit=2).content_hash() == digest([COLUMNS, *CELLS[:2]])
    drawn = opened(sample=7, seed=3)
    assert [row.index for row in drawn.rows()] == [283, 302, 360, 511, 586, 715, 768]
    assert len(list(drawn.rows())) == 7


def test_null_is_not_empty(tmp_path: Path) -> None:
    hashes = set()
    for cell in ('""', "null", '" "', "0", '"0"', "false", "[]"):
        (tmp_path / "t.jsonl").write_text(f'{{"a": {cell}}}\n')
        hashes.add(open_dataset(DatasetSpec(path="t.jsonl"), tmp_path).content_hash())
    assert len(hashes) == 7


def test_only_what_a_format_needs_is_imported() -> None:
    code = (
        "import sys, bakeoff.datasets, bakeoff.datasets.roles; "
        "print([m for m in ('pyarrow', 'datasets', 'torch', 'transformers', 'pandas') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
