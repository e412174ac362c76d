"""What tests share: sizes, parts of the machine, real data."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

PART_MISSING = "part missing: "
"""How the reason of a skip begins that BAKEOFF_REQUIRE_PARTS=1 turns into a failure."""

PROGRAMS = {"chromium", "git", "make"}


def scale(full: int) -> int:
    """How many to do of what is done `full` times at full size: a tenth, at least one, in `make
    test`; all with --full or BAKEOFF_FULL=1.
    """
    return full if is_full() else max(1, full // 10)


def is_full() -> bool:
    """Whether the long tests run at full size."""
    return os.environ.get("BAKEOFF_FULL", "") not in ("", "0")


def part(name: str) -> str:
    """Skip the test unless a program or Python package is there; return its path or name."""
    if name in PROGRAMS:
        found = shutil.which(name)
    else:
        found = name if importlib.util.find_spec(name) else None
    if found is None:
        pytest.skip(PART_MISSING + name)
    return found


def lend_tools(home: str) -> None:
    """Lay private environments, and what they exported, into the tests' own home.

    BAKEOFF_TEST_TOOLS names the home in which `bakeoff engines add` built them; without it, tests
    that need them are skipped.
    """
    said = os.environ.get("BAKEOFF_TEST_TOOLS", "")
    for name in ("environments", "cache/openvino") if said else ():
        kept, place = Path(said).resolve() / name, Path(home) / name
        kept.mkdir(parents=True, exist_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(kept)


def real_data(name: str) -> Path:
    """A file or folder of the real data, which is no part of the project.

    Skips the test where BAKEOFF_TEST_DATA is not set; where it is set, the file has to be there.
    """
    folder = os.environ.get("BAKEOFF_TEST_DATA", "")
    if not folder:
        pytest.skip("no real data: BAKEOFF_TEST_DATA names its folder")
    path = Path(folder) / name
    if not path.exists():
        pytest.fail(f"BAKEOFF_TEST_DATA={folder!r} holds no {name!r}")
    return path
