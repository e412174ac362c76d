"""Cached conversions: whole or absent, leased, pruned; also with kills and several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bakeoff.engines import cache

BUILD = """
import pathlib, sys, time
from bakeoff.engines.cache import acquire
log, pause = pathlib.Path(sys.argv[1]), float(sys.argv[2])
def build(folder):
    with log.open("a") as stream:
        stream.write("built\\n")
    (folder / "part").write_text("half")
    print("building", flush=True)
    time.sleep(pause)
    (folder / "rest").write_text("whole")
with acquire("gguf", "k", "a.gguf", build) as lease:
    print("have", (lease.path / "rest").read_text(), flush=True)
    if len(sys.argv) > 3:
        sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def start(log: Path, pause: float, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, str(log), str(pause), *more],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def make(key: str, size: int = 10, used: float | None = None) -> None:
    lease = cache.acquire("gguf", key, f"{key}.gguf", lambda f: _write(f / "w", size))
    lease.release()
    if used is not None:
        os.utime(lease.path / cache.ENTRY_FILE, (used, used))


def _write(path: Path, size: int) -> None:
    path.write_bytes(b"x" * size)


def test_home_is_the_variable_or_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKEOFF_HOME", "~/kept")
    assert cache.bakeoff_home() == Path.home() / "kept"
    monkeypatch.delenv("BAKEOFF_HOME")
    assert cache.bakeoff_home().name == "bakeoff"


def test_an_entry_is_built_once() -> None:
    make("a")
    with cache.acquire("gguf", "a", "a.gguf", lambda folder: pytest.fail("built again")):
        pass
    (entry,) = cache.entries()
    assert (entry.kind, entry.key, entry.source, entry.in_use) == ("gguf", "a", "a.gguf", False)
    assert entry.bytes >= 10


def test_a_build_that_fails_publishes_nothing(home: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "part").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cache.acquire("gguf", "a", "a.gguf", fail)
    assert cache.entries() == []
    assert [p for p in (home / "cache" / "gguf").iterdir() if p.is_dir()] == []


def test_two_processes_at_once_build_once_and_both_end_well(tmp_path: Path) -> None:
    log = tmp_path / "log"
    both = [start(log, 0.5), start(log, 0.5)]
    outputs = [process.communicate(timeout=60)[0] for process in both]
    assert [output.splitlines()[-1] for output in outputs] == ["have whole", "have whole"]
    assert log.read_text() == "built\n"


def test_a_kill_while_building_leaves_no_entry_and_the_next_builds_anew(
    tmp_path: Path, home: Path
) -> None:
    log = tmp_path / "log"
    process = start(log, 60)
    assert line(process) == "building"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert cache.entries() == []
    assert list((home / "cache" / "gguf").glob("*.tmp-*"))
    done = start(log, 0)
    assert done.communicate(timeout=60)[0].splitlines() == ["building", "have whole"]
    assert not list((home / "cache" / "gguf").glob("*.tmp-*"))


def test_prune_takes_leftovers_but_nothing_that_is_being_built(tmp_path: Path, home: Path) -> None:
    builder = start(tmp_path / "log", 3)
    assert line(builder) == "building"
    leftover = home / "cache" / "gguf" / "dead.tmp-1"
    leftover.mkdir()
    assert cache.prune() == []
    assert not leftover.exists()
    assert "have whole" in builder.communicate(timeout=60)[0]


def test_a_leased_entry_is_not_pruned_and_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    holder = start(tmp_path / "log", 0, "hold")
    assert (line(holder), line(holder)) == ("building", "have whole")
    assert [entry.in_use for entry in cache.entries()] == [True]
    assert cache.prune() == []
    holder.send_signal(signal.SIGKILL)
    holder.communicate(timeout=60)
    assert [entry.key for entry in cache.prune()] == ["k"]
    assert cache.entries() == []


def test_prune_by_age_and_by_size() -> None:
    for number, key in enumerate(("old", "middle", "new")):
        make(key, 1000, used=1_000_000_000.0 + number)
    assert cache.prune(older_than=1e12) == []
    assert [e.key for e in cache.prune(max_bytes=2500)] == ["old"]
    assert {e.key for e in cache.prune(older_than=3600)} == {"middle", "new"}


def test_a_lease_may_be_given_back_twice() -> None:
    lease = cache.acquire("gguf", "a", "a.gguf", lambda f: _write(f / "w", 1))
    other = cache.acquire("gguf", "a", "a.gguf", lambda f: _write(f / "w", 1))
    lease.release()
    lease.release()
    assert cache.prune() == []
    other.release()
    assert len(cache.prune()) == 1
