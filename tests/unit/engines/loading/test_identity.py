"""Content hashes, and the memory of hashes of big files."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from bakeoff.engines import identity

BIG = 1 << 20


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("size", [0, 5, BIG, BIG + 1])
def test_hash_is_sha256_of_the_content(tmp_path: Path, size: int) -> None:
    path = tmp_path / "w"
    path.write_bytes(b"x" * size)
    for _ in range(2):
        assert identity.file_sha256(path) == hashlib.sha256(b"x" * size).hexdigest()


def test_a_big_file_is_read_once_until_it_changes(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "w"
    path.write_bytes(b"x" * BIG)
    identity.file_sha256(path)
    memo = home / "hashes.json"
    known = json.loads(memo.read_text())
    memo.write_text(json.dumps(dict.fromkeys(known, "remembered")))
    assert identity.file_sha256(path) == "remembered"
    os.utime(path, ns=(1, 1))
    assert identity.file_sha256(path) == hashlib.sha256(b"x" * BIG).hexdigest()
    assert len(json.loads(memo.read_text())) == 2


@pytest.mark.parametrize("content", ["{", "[]", "\udcff"])
def test_a_damaged_memory_is_replaced(tmp_path: Path, home: Path, content: str) -> None:
    home.mkdir()
    (home / "hashes.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    path = tmp_path / "w"
    path.write_bytes(b"x" * BIG)
    right = hashlib.sha256(b"x" * BIG).hexdigest()
    assert identity.file_sha256(path) == right
    assert list(json.loads((home / "hashes.json").read_text()).values()) == [right]


def test_folder_identity_separates_name_and_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    both = identity.folder_identity(tmp_path, ["b", "a"])
    assert both == identity.folder_identity(tmp_path, ["a", "b"])
    (tmp_path / "a").write_text("2")
    (tmp_path / "b").write_text("1")
    assert identity.folder_identity(tmp_path, ["a", "b"]) != both


def test_parts() -> None:
    whole = identity.with_part(identity.hub_identity("o/n", "c"), "code", "x/y@z")
    assert whole == "hf:o/n@c+code:x/y@z"
    assert identity.part_of(whole, "code") == "x/y@z"
    assert identity.part_of(whole, "adapter") is None
