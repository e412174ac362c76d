"""Parquet and saved data sets: types as plain cells, types that are refused, splits."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bakeoff.core.errors import BadDataset
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset
from tests.support import part

UTC = datetime.UTC
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 250_000)
STRUCT = pa.struct([("en", pa.string()), ("n", pa.list_(pa.int8()))])


def cells(array: pa.Array, folder: Path) -> list[Any]:
    pq.write_table(pa.table({"x": array}), folder / "t.parquet")
    dataset = open_dataset(DatasetSpec(path="t.parquet"), folder)
    return [row.cells["x"] for row in dataset.rows()]


@pytest.mark.parametrize(
    ("array", "wanted"),
    [
        (pa.array(["x", None, "", "\ufeff"]), ["x", None, "", "\ufeff"]),
        (pa.array(["x", None], pa.large_string()), ["x", None]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
        (pa.array([1, None, 2**62]), [1, None, 2**62]),
        (pa.array([2**64 - 1], pa.uint64()), [2**64 - 1]),
        (pa.array([0.1, None, float("nan"), 1e300]), [0.1, None, None, 1e300]),
        (pa.array([0.1, 2.0], pa.float32()), [0.1, 2.0]),
        (pa.array([0.1, None], pa.float32()), [0.1, None]),
        (pa.array([True, None]), [True, None]),
        (pa.array([decimal.Decimal("1.10"), decimal.Decimal("1E-7")]), ["1.1000000", "0.0000001"]),
        (pa.array([datetime.date(2024, 2, 29), None]), ["2024-02-29", None]),
        (pa.array([NOON], pa.timestamp("ns")), ["2024-02-29T12:00:00.25"]),
        (pa.array([NOON.replace(microsecond=0)], pa.timestamp("us")), ["2024-02-29T12:00:00"]),
        (pa.array([NOON], pa.timestamp("us", "Europe/Bucharest")), ["2024-02-29T12:00:00.25Z"]),
        (pa.array([datetime.time(1, 2, 3)]), ["01:02:03"]),
        (pa.array([["a", None], [], None, ["b"]]), [["a", None], [], None, ["b"]]),
        (pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)), [[1, 2], None, [3, 4]]),
        (
            pa.array([{"en": "x", "n": [1]}, None, {"en": None, "n": None}], STRUCT),
            [{"en": "x", "n": [1]}, None, {"en": None, "n": None}],
        ),
        (pa.array([[NOON.date()], None]), [["2024-02-29"], None]),
        (pa.nulls(2), [None, None]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_types_become_plain_cells(array: pa.Array, wanted: list[Any], tmp_path: Path) -> None:
    found = cells(array, tmp_path)
    assert found == wanted
    assert [type(value) for value in found] == [type(value) for value in wanted]


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([b"x"]), "binary"),
        (pa.array([[b"x"]]), "binary"),
        (pa.array([{"bytes": b"x"}]), "binary"),
        (pa.array([b"xy"], pa.binary(2)), "fixed_size_binary"),
        (pa.array([datetime.timedelta(1)]), "duration"),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "map"),
    ],
)
def test_types_that_are_no_text_are_refused_by_column(
    array: pa.Array, kind: str, tmp_path: Path
) -> None:
    with pytest.raises(BadDataset, match=kind) as refusal:
        cells(array, tmp_path)
    assert refusal.value.column == "x"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pa.table({"x": pa.array([], pa.string())}), "no rows"),
        (pa.table([["1"], ["2"]], names=["x", "x"]), "twice"),
        (pa.table([["1"]], names=[" "]), "no name"),
        (pa.table({"x": [1.0, float("inf")]}), "column 'x': an infinite number in row 2"),
        (pa.table({"x": [[1.0], [], [0.5, float("-inf")]]}), "in row 3"),
        (pa.table({"x": [*range(2000), float("inf")]}), "in row 2001"),
    ],
)
def test_parquet_refusals(table: pa.Table, words: str, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(BadDataset, match=words):
        list(open_dataset(DatasetSpec(path="t.parquet"), tmp_path).rows())


def save(folder: Path, *tables: pa.Table, **state: Any) -> None:
    """A folder as `save_to_disk` writes it, one file a table."""
    folder.mkdir(parents=True)
    names = [f"data-{n:05d}-of-{len(tables):05d}.arrow" for n in range(len(tables))]
    for name, table in zip(names, tables, strict=True):
        with pa.ipc.new_stream(str(folder / name), table.schema) as out:
            out.write_table(table, max_chunksize=2)
    found = {"_data_files": [{"filename": name} for name in names], **state}
    (folder / "state.json").write_text(json.dumps(found))


def opened(folder: Path, **options: Any) -> list[Any]:
    dataset = open_dataset(DatasetSpec(path="saved", **options), folder)
    return [row.cells["x"] for row in dataset.rows()]


def test_a_saved_data_set_is_read_over_its_files(tmp_path: Path) -> None:
    save(tmp_path / "saved", pa.table({"x": ["a", "b", "c"]}), pa.table({"x": ["d"]}))
    assert opened(tmp_path) == ["a", "b", "c", "d"]
    with pytest.raises(BadDataset, match="without splits"):
        opened(tmp_path, split="train")


def test_splits_of_a_saved_data_set(tmp_path: Path) -> None:
    for name in ("train", "test"):
        save(tmp_path / "saved" / name, pa.table({"x": [name]}))
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(BadDataset, match="one of train, test"):
        opened(tmp_path)
    with pytest.raises(BadDataset, match="no split 'dev'; there are: train, test"):
        opened(tmp_path, split="dev")
    assert opened(tmp_path, split="test") == ["test"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"_data_files": [{"filename": "../t.arrow"}]}, "outside the folder"),
        ({"_data_files": [{"filename": "gone.arrow"}]}, "cannot be read"),
        ({"_data_files": []}, "no data files"),
        ({"_data_files": [{}]}, "no data files"),
        ({"_indices_data_files": [{"filename": "i"}]}, "flatten_indices"),
    ],
)
def test_damaged_folders_are_refused(state: dict[str, Any], words: str, tmp_path: Path) -> None:
    save(tmp_path / "saved", pa.table({"x": ["a"]}), **state)
    with pytest.raises(BadDataset, match=words):
        opened(tmp_path)


def test_what_the_library_saves(tmp_path: Path) -> None:
    part("datasets")
    import datasets

    made = datasets.Dataset.from_dict({"x": ["a", "b", "c"]})
    made.select([2, 0]).save_to_disk(tmp_path / "saved")
    assert opened(tmp_path) == ["c", "a"]
