"""Lines between an engine and its process: whole ones, whatever the pieces they come in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bakeoff.core.errors import EngineLost
from bakeoff.engines.openvino import process
from bakeoff.engines.openvino.child import Lines
from bakeoff.engines.openvino.process import CHILD, Limits, Process

LIMITS = Limits(threads=1, rows=2, batch=8)
ECHO = """
import json, sys
said = json.loads(sys.stdin.readline())
print(json.dumps({"ready": said["model"]}), flush=True)
for line in sys.stdin:
    print(line, end="", flush=True)
    if "die" in line:
        sys.exit("something broke")
"""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def test_lines_come_whole(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = Lines(reading)
    assert lines.next(wait=False) is None
    os.write(writing, b'{"add": 1}\n{"add": 2}\n')
    assert lines.next(wait=False) == {"add": 1}
    assert lines.next(wait=False) == {"add": 2}
    assert lines.next(wait=False) is None
    assert not lines.ended
    os.write(writing, b'{"add": 3}\n{"drop"')
    os.close(writing)
    assert lines.next(wait=True) == {"add": 3}
    assert lines.next(wait=True) is None
    assert lines.ended


def test_the_process_imports_nothing_of_bakeoff() -> None:
    """Nor the library, before it is told which model to load."""
    code = f"import runpy, sys; runpy.run_path({str(CHILD)!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "select" in loaded
    assert not loaded & {"bakeoff", "openvino", "openvino_genai", "torch", "transformers", "numpy"}


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "echo.py"
    script.write_text(ECHO)
    monkeypatch.setattr(process, "CHILD", script)


def test_a_process_that_ends_is_told_with_its_last_words(echo: None) -> None:
    child = Process(Path("model"), LIMITS)
    assert child.version == "model"
    child.send({"add": []})
    assert child.receive() == {"add": []}
    assert child.alive
    child.send({"die": 1})
    assert child.receive() == {"die": 1}
    with pytest.raises(EngineLost, match="status 1: something broke"):
        child.receive()
    with pytest.raises(EngineLost):
        child.send({"add": "x" * 100_000})
    assert not child.alive
    child.close()
    child.close()


def test_one_that_does_not_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "broken.py"
    script.write_text("raise RuntimeError('no such model')")
    monkeypatch.setattr(process, "CHILD", script)
    with pytest.raises(EngineLost, match="no such model"):
        Process(Path("model"), LIMITS)
