"""Odd files through two doors, a path and a stream: the same rows, columns and hash, or refusal."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from bakeoff.core.canonical import digest
from bakeoff.core.errors import BadDataset, CallerError
from bakeoff.datasets import FileDataset, open_dataset
from tests.unit.datasets.odd_files import READ, REFUSED, Odd


def by_path(odd: Odd, folder: Path) -> FileDataset:
    (folder / odd.name).write_bytes(odd.data)
    return open_dataset(odd.spec(odd.name), folder)


def by_stream(odd: Odd, folder: Path) -> FileDataset:
    return open_dataset(odd.spec("-"), folder, io.BytesIO(odd.data))


def table(dataset: FileDataset) -> tuple[Any, ...]:
    return tuple(tuple(row.cells[c] for c in dataset.columns) for row in dataset.rows())


def name_of(odd: Odd) -> str:
    return odd.name


@pytest.mark.parametrize("odd", READ, ids=name_of)
def test_both_doors_give_the_same(odd: Odd, tmp_path: Path) -> None:
    path, stream = by_path(odd, tmp_path), by_stream(odd, tmp_path)
    assert path.columns == stream.columns == odd.columns
    assert table(path) == odd.rows
    assert table(stream) == table(path)
    wanted = digest([list(odd.columns), *map(list, odd.rows)])
    assert path.content_hash() == stream.content_hash() == wanted
    assert path.name == odd.name
    codes = {notice.code for notice in path.notices}
    assert (odd.notice in codes) if odd.notice else not codes


@pytest.mark.parametrize("odd", REFUSED, ids=name_of)
def test_both_doors_refuse_with_the_same_words(odd: Odd, tmp_path: Path) -> None:
    said = []
    for door in (by_path, by_stream):
        with pytest.raises(CallerError) as refusal:
            table(door(odd, tmp_path))
        error = refusal.value
        for words in odd.refused:
            assert words in error.message
        if isinstance(error, BadDataset):
            assert (error.line, error.column) == (odd.line, odd.column)
            assert error.file == ("standard input" if door is by_stream else odd.name)
            said.append(error.message.removeprefix(error.file))
        else:
            said.append(error.message)
    assert said[0] == said[1]


def test_there_are_enough_odd_files() -> None:
    assert len(READ) >= 40
    assert len({odd.name for odd in READ + REFUSED}) == len(READ) + len(REFUSED)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": "x"}\n{"a": "y"}\n',
        b' [{"a": "x"}, {"a": "y"}]',
        b'{\n"a": "x"}\n{"a": "y"}',
        b'"a"\n"x"\ny\n',
    ],
)
def test_a_stream_is_known_by_its_content(data: bytes, tmp_path: Path) -> None:
    spec = Odd("x.csv", b"", options={"format": None}).spec("-")
    dataset = open_dataset(spec, tmp_path, io.BytesIO(data))
    assert table(dataset) == (("x",), ("y",))
    assert "format-guessed" in {notice.code for notice in dataset.notices}
