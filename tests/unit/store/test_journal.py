"""The journal: first finished row wins, torn lines are counted, any number of writers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bakeoff.core.canonical import digest
from bakeoff.core.errors import RunDamaged
from bakeoff.core.results import RowError, RowResult
from bakeoff.store.files.journal import (
    Damage,
    JournalIndex,
    JournalWriter,
    SegmentHeader,
    pick_rows,
    read_lines,
)


def key(number: int) -> str:
    return digest(number)


def good(number: int, text: str = "t") -> RowResult:
    return RowResult(key=key(number), row=str(number), ok=True, text=text)


def bad(number: int, retryable: bool) -> RowResult:
    error = RowError(code="engine_failed", message="m", retryable=retryable)
    return RowResult(key=key(number), row=str(number), ok=False, error=error)


def write(folder: Path, attempt: int, writer: str, *rows: RowResult) -> Path:
    with JournalWriter(folder, SegmentHeader(writer=writer, attempt=attempt)) as journal:
        journal.append(rows)
    return journal.path


def texts(folder: Path, *numbers: int) -> dict[int, str | None]:
    found = pick_rows(folder, [key(n) for n in numbers])
    return {n: found[key(n)].values["text"] for n in numbers if key(n) in found}


def test_first_finished_row_wins_whoever_wrote_it(tmp_path: Path) -> None:
    write(tmp_path, 2, "aa", good(1, "second attempt"))
    write(tmp_path, 1, "bb", bad(1, True), good(1, "first, writer bb"), good(1, "later line"))
    write(tmp_path, 1, "cc", good(1, "writer cc"))
    assert texts(tmp_path, 1) == {1: "first, writer bb"}


def test_last_failure_counts_while_nothing_finished(tmp_path: Path) -> None:
    write(tmp_path, 1, "aa", bad(1, False))
    write(tmp_path, 2, "aa", bad(1, True))
    found = pick_rows(tmp_path, [key(1)])
    assert found[key(1)].values["error"]["retryable"] is True
    assert not JournalIndex(tmp_path).settled(key(1))


def test_settled_means_finished_or_hopeless(tmp_path: Path) -> None:
    write(tmp_path, 1, "aa", good(1), bad(2, True), bad(3, False))
    index = JournalIndex(tmp_path)
    assert [index.settled(key(n)) for n in (1, 2, 3, 4)] == [True, False, True, False]
    assert index.attempt == 1


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_a_torn_last_line_is_ignored_and_counted(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path, 1, "aa", good(1), good(2))
    os.truncate(path, path.stat().st_size - cut)
    damage = Damage()
    rows = [line.values["row"] for line in read_lines(tmp_path, damage)]
    assert rows == ["1"]
    assert (damage.torn, damage.broken) == (1, 0)


def test_a_torn_header_loses_only_its_segment(tmp_path: Path) -> None:
    path = write(tmp_path, 1, "aa")
    os.truncate(path, 10)
    write(tmp_path, 2, "bb", good(1))
    damage = Damage()
    assert [line.values["row"] for line in read_lines(tmp_path, damage)] == ["1"]
    assert damage.torn == 1


def test_broken_lines_in_the_middle_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, 1, "aa", good(1), good(2), good(3))
    lines = path.read_bytes().split(b"\n")
    lines[2] = b'{"key": 17}'
    path.write_bytes(b"\n".join(lines))
    index = JournalIndex(tmp_path)
    assert index.damage.broken == 1
    assert [index.settled(key(n)) for n in (1, 2, 3)] == [True, False, True]


def test_a_newer_format_is_refused_by_file(tmp_path: Path) -> None:
    path = write(tmp_path, 1, "aa", good(1))
    lines = path.read_text().split("\n")
    lines[0] = json.dumps({**json.loads(lines[0]), "format": 99})
    path.write_text("\n".join(lines))
    with pytest.raises(RunDamaged, match="newer bakeoff"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize(
    "text", ["\ud800 lone", "\u2028 line", "a\nb\r", "\x00", "نص", "</script>"]
)
def test_any_text_comes_back(tmp_path: Path, text: str) -> None:
    write(tmp_path, 1, "aa", good(1, text))
    assert texts(tmp_path, 1) == {1: text}


def test_two_writers_cannot_share_a_segment(tmp_path: Path) -> None:
    write(tmp_path, 1, "aa")
    with pytest.raises(FileExistsError):
        write(tmp_path, 1, "aa")
