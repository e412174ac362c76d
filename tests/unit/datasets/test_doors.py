"""Paths, folders, streams, options that do not apply, and which rows are taken."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.errors import BadDataset, UnsupportedOption
from bakeoff.core.specs import DatasetSpec
from bakeoff.datasets import open_dataset
from bakeoff.datasets.selection import FileDataset
from bakeoff.jobs.data import open_run_data

PLAIN = "a,b\n" + "".join(f"x{n},y{n}\n" for n in range(20))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plain.csv").write_text(PLAIN)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "part.parquet").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("one line\nand one more\n")
    return tmp_path


@pytest.mark.parametrize("stream", [None, io.StringIO("a,b\n")])
@pytest.mark.parametrize("door", ["dataset", "run"])
def test_a_process_without_standard_input(
    door: str, stream: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", stream)
    spec = DatasetSpec(path="-", format="csv")
    with pytest.raises(BadDataset, match="standard input: is closed"):
        open_dataset(spec, folder) if door == "dataset" else open_run_data(spec, folder, folder)


def indices(dataset: FileDataset) -> list[int]:
    return [row.index for row in dataset.rows()]


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("plan.csv", {}, ("no such file", "'plain.csv'")),
        ("gone/x.csv", {}, ("no folder",)),
        ("plain.csv/x", {}, ("no folder",)),
        ("more", {}, ("save_to_disk", "'part.parquet'")),
        ("more", {"format": "csv"}, ("is a folder",)),
        ("notes.txt", {}, ("write format: csv", "'one line'")),
        ("s3://bucket/x.csv", {}, ("s3://", "hf://datasets/org/name")),
        ("hf://org/name", {}, ("hf://datasets/", "hf://org/name names a model")),
        ("hf://datasets/org/name@a", {"revision": "b"}, ("@a", "revision: says b")),
        ("file://elsewhere/x.csv", {}, ("this machine only",)),
        ("plain.csv", {"format": "datasets"}, ("a folder",)),
        ("/dev/null", {}, ("is a device",)),
    ],
)
def test_what_cannot_be_opened_is_refused(
    path: str, options: dict[str, Any], words: tuple[str, ...], folder: Path
) -> None:
    with pytest.raises(BadDataset) as refusal:
        open_dataset(DatasetSpec(path=path, **options), folder)
    assert all(word in refusal.value.message for word in words)
    assert refusal.value.file == path


@pytest.mark.parametrize(
    ("path", "options", "option"),
    [
        ("plain.csv", {"split": "train"}, "split"),
        ("plain.csv", {"revision": "main"}, "revision"),
        ("plain.csv", {"config": "en"}, "config"),
        ("more", {"delimiter": ";"}, "delimiter"),
        ("more/part.parquet", {"encoding": "utf-8"}, "encoding"),
        ("hf://datasets/org/name", {"encoding": "utf-8"}, "encoding"),
        ("hf://datasets/org/name", {"format": "csv"}, "format"),
    ],
)
def test_options_that_do_not_apply_are_refused_by_name(
    path: str, options: dict[str, Any], option: str, folder: Path
) -> None:
    (folder / "more" / "part.parquet").write_bytes(b"PAR1")
    with pytest.raises(UnsupportedOption, match=repr(option)) as refusal:
        open_dataset(DatasetSpec(path=path, **options), folder)
    assert refusal.value.option == option


def test_one_file_under_many_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    path = folder / "plain.csv"
    for name in ("plain.csv", "more/../plain.csv", str(path), path.as_uri(), "~/plain.csv"):
        dataset = open_dataset(DatasetSpec(path=name), folder)
        assert (dataset.name, dataset.file, len(indices(dataset))) == ("plain.csv", name, 20)


def test_a_stream_is_kept_by_its_content(folder: Path, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spec = DatasetSpec(path="-")
    first = open_dataset(spec, folder, io.BytesIO(PLAIN.encode()), spool)
    again = open_dataset(spec, folder, io.BytesIO(PLAIN.encode()), spool)
    assert len(list(spool.iterdir())) == 1
    assert indices(first) == indices(first) == indices(again)


def test_a_temporary_spool_goes_with_the_data_set(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = folder / "temporary"
    spool.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spool))
    dataset = open_dataset(DatasetSpec(path="-"), folder, io.BytesIO(PLAIN.encode()))
    assert len(indices(dataset)) == 20
    assert len(list(spool.iterdir())) == 1
    del dataset
    assert not list(spool.iterdir())


def test_standard_input_of_the_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    assert len(indices(open_dataset(DatasetSpec(path="-"), folder))) == 20


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_read_once_and_kept(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    writer = threading.Thread(target=(folder / "pipe.csv").write_text, args=(PLAIN,))
    writer.start()
    dataset = open_dataset(DatasetSpec(path="pipe.csv"), folder)
    writer.join()
    assert indices(dataset) == indices(dataset) == list(range(20))


def test_a_file_that_changes_is_not_read_on(folder: Path) -> None:
    dataset = open_dataset(DatasetSpec(path="plain.csv"), folder)
    (folder / "plain.csv").write_text(PLAIN + "new,row\n")
    with pytest.raises(BadDataset, match="changed"):
        list(dataset.rows())


def chosen(folder: Path, **options: Any) -> FileDataset:
    return open_dataset(DatasetSpec(path="plain.csv", **options), folder)


def test_rows_keep_their_place_in_the_file(folder: Path) -> None:
    assert indices(chosen(folder, limit=3)) == [0, 1, 2]
    assert indices(chosen(folder, limit=99)) == list(range(20))
    drawn = indices(chosen(folder, sample=5, seed=1))
    assert drawn == sorted(drawn)
    assert len(set(drawn)) == 5
    assert [row.line for row in chosen(folder, sample=5, seed=1).rows()] == [n + 2 for n in drawn]
    assert drawn == indices(chosen(folder, sample=5, seed=1))
    assert drawn != indices(chosen(folder, sample=5, seed=2))


def test_a_draw_is_the_same_everywhere_and_grows(folder: Path) -> None:
    assert indices(chosen(folder, sample=4)) == [0, 1, 4, 17]
    assert set(indices(chosen(folder, sample=4))) < set(indices(chosen(folder, sample=9)))
    assert max(indices(chosen(folder, sample=4, limit=8))) < 8


def test_a_sample_above_all_rows_takes_all_and_says_so(folder: Path) -> None:
    dataset = chosen(folder, sample=30)
    assert indices(dataset) == list(range(20))
    assert [n.code for n in dataset.notices] == ["sample-too-large"]


def test_a_bad_row_after_the_limit_is_not_read(folder: Path) -> None:
    (folder / "plain.csv").write_text(PLAIN + "ragged\n")
    assert len(indices(chosen(folder, limit=20))) == 20
    with pytest.raises(BadDataset, match="line 22"):
        indices(chosen(folder, sample=3))
