"""A run survives `kill -9` at any moment: every row exactly once, the report as undisturbed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bakeoff.store.files.journal import read_lines

SCRIPT = Path(__file__).with_name("killing.py")
ROWS = 60
SPEC = """
name: k
dataset: d.csv
columns: {source: text, reference: text}
task: text-generation
generation: {max_new_tokens: 40, temperature: 0.7}
repeats: 2
metrics: [exact_match, chrf, length]
models:
  - {id: echo, model: "fake://echo?delay=0.02&fail_text=row 7."}
  - {id: words, model: "fake://words?delay=0.02"}
  - baseline://lead-3
"""


def make_spec(folder: Path) -> Path:
    folder.mkdir()
    lines = ["text", *(f"This is row {n}. It says {n * n}." for n in range(ROWS))]
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    spec = folder / "k.yaml"
    spec.write_text(SPEC)
    return spec


def start(plan: dict[str, Any], spec: Path, runs: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(SCRIPT), json.dumps(plan), str(spec), str(runs)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def settle(spec: Path, runs: Path) -> None:
    """Run to the end; 3 is the exit code of a run with failed rows."""
    process = start({"at": "never"}, spec, runs)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 3, errors.decode()


def comparable(runs: Path) -> dict[str, Any]:
    """The report without what a clock or an earlier attempt puts into it."""
    report: dict[str, Any] = json.loads((runs / "k" / "report.json").read_text())
    del report["created"]
    for model in report["models"].values():
        for name in ("reused", "tokens_per_s", "seconds", "batch", "latency"):
            del model[name]
    report["warnings"] = [w for w in report["warnings"] if w["code"] != "torn-lines"]
    return report


def finished_lines(runs: Path) -> Counter[tuple[str, str, int]]:
    return Counter(
        (folder.name, line.values["row"], line.values["repeat"])
        for folder in (runs / "k" / "rows").iterdir()
        for line in read_lines(folder)
        if line.values["ok"]
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], float]:
    spec = make_spec(tmp_path_factory.mktemp("k") / "data")
    runs = spec.parent / "runs"
    started = time.monotonic()
    settle(spec, runs)
    return runs, comparable(runs), time.monotonic() - started


def plans(count: int, seconds: float, seed: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    found: list[dict[str, Any]] = []
    for number in range(count):
        kind = ("time", "write", "replace", "second")[number % 4]
        if kind == "write":
            found.append(
                {"at": "write", "call": draw.randint(1, 6), "bytes": draw.randint(0, 20_000)}
            )
        elif kind == "replace":
            found.append({"at": "replace", "call": draw.randint(1, 9)})
        else:
            found.append({"at": kind, "seconds": draw.uniform(0.2, seconds)})
    return found


def disturb(plan: dict[str, Any], spec: Path, runs: Path) -> bool:
    """Carry out one plan; whether the process was really killed."""
    process = start({**plan, "wait": 60 if plan["at"] == "second" else 0}, spec, runs)
    if plan["at"] in ("write", "replace"):
        process.communicate(timeout=120)
        return process.returncode == -9
    second = start({"at": "never", "wait": 60}, spec, runs) if plan["at"] == "second" else None
    try:
        process.wait(plan["seconds"])
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    if second is not None:
        _, errors = second.communicate(timeout=120)
        assert second.returncode == 3, errors.decode()
    return process.returncode == -9


@pytest.mark.long
def test_every_row_exactly_once_whatever_is_killed(
    undisturbed: tuple[Path, dict[str, Any], float], tmp_path: Path, scale: Any
) -> None:
    _, report, seconds = undisturbed
    killed, round_number = 0, 0
    wanted = scale(100)
    while killed < wanted:
        round_number += 1
        assert round_number <= wanted + 5, "too few processes could be killed in time"
        spec = make_spec(tmp_path / f"round{round_number}")
        runs = spec.parent / "runs"
        for plan in plans(8, seconds, round_number):
            killed += disturb(plan, spec, runs)
            if (runs / "k" / "report.json").exists():
                break
        settle(spec, runs)
        assert comparable(runs) == report
        counts = finished_lines(runs)
        assert set(counts.values()) == {1}
        assert len(counts) == 2 * (3 * ROWS - 1)


def test_undisturbed_run_is_complete(undisturbed: tuple[Path, dict[str, Any], float]) -> None:
    runs, report, _ = undisturbed
    assert report["models"]["echo"]["failures"] == 2
    assert report["models"]["words"]["failures"] == 0
    assert len(finished_lines(runs)) == 2 * (3 * ROWS - 1)
