"""Run folders: atomic files, and a lock that a dead process does not hold."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from bakeoff.core.errors import RunDamaged, RunLocked, RunNotFound
from bakeoff.store.files.atomic import replacing, write_text
from bakeoff.store.files.runfolder import RunFolder


def hold(path: Path, ready: multiprocessing.synchronize.Event) -> None:
    with RunFolder(path).locked():
        ready.set()
        signal.pause()


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=hold, args=(tmp_path, ready))
    process.start()
    assert ready.wait(30)
    with pytest.raises(RunLocked, match=str(process.pid)), RunFolder(tmp_path).locked():
        pass
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    with RunFolder(tmp_path).locked():
        pass


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_text(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_missing_and_damaged_runs_are_named(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "spec.yaml").write_text("name: there")
    with pytest.raises(RunNotFound, match=r"runs in .*: there"):
        RunFolder.existing(tmp_path / "their")
    folder = RunFolder.existing(tmp_path / "there")
    with pytest.raises(RunNotFound, match="no report yet"):
        folder.read_report()
    folder.report_file.write_text("{")
    with pytest.raises(RunDamaged, match="is no report"):
        folder.read_report()
