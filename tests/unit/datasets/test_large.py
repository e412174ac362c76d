"""A million rows (a tenth by default) stream in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import scale

ROWS = scale(1_000_000)
MOST_MB = 300

MEASURE = """
import json, resource, sys, time
from pathlib import Path
from bakeoff.core.ports import Roles
from bakeoff.core.specs import ColumnsSpec, DatasetSpec
from bakeoff.datasets import open_dataset
from bakeoff.datasets.profile import profile
from bakeoff.datasets.roles import map_roles

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

path = Path(sys.argv[1])
before = peak()
dataset = open_dataset(DatasetSpec(path=path.name), path.parent)
roles = Roles(("source",), ("id", "reference"), {"source": ("source",), "id": ("id",)})
found = map_roles(dataset, ColumnsSpec(), roles)
dataset.content_hash()
if sys.argv[2] == "profile":
    assert profile(dataset).ids[0] == "id"
print(json.dumps([found.rows, peak() - before]))
"""


def _csv(path: Path) -> None:
    with path.open("w") as out:
        out.write("id,source,reference\n")
        out.writelines(
            f'{n},"a source, number {n}, ""quoted""",plain text {n % 97}\n' for n in range(ROWS)
        )


def _jsonl(path: Path) -> None:
    with path.open("w") as out:
        out.writelines(json.dumps({"id": n, "source": f"text {n}"}) + "\n" for n in range(ROWS))


def _json(path: Path) -> None:
    with path.open("w") as out:
        out.write("[")
        out.writelines(f'{"," * (n > 0)}\n {{"id": {n}, "source": "x {n}"}}' for n in range(ROWS))
        out.write("]")


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "write", "profiled"),
    [("t.csv", _csv, "profile"), ("t.jsonl", _jsonl, ""), ("t.json", _json, "")],
)
def test_memory_stays_bounded(name: str, write: object, profiled: str, tmp_path: Path) -> None:
    assert callable(write)
    write(tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / name), profiled],
        capture_output=True,
        text=True,
        check=True,
    )
    rows, megabytes = json.loads(done.stdout)
    assert rows == ROWS
    assert megabytes < MOST_MB
