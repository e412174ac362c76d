"""scripts/install.sh takes the CPU build of torch where there is no GPU, or says so."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.unit.project.tree import ROOT

CPU = "torch==9.9+cpu"
ELSEWHERE = "file:///wheels"

PIP = """#!/bin/bash
case "$*" in
  *--extra-index-url*) [ "$AT_INDEX" = 1 ] ;;
  *) [ "$HERE" = 1 ] ;;
esac
"""


@pytest.mark.parametrize(
    ("settings", "chosen", "note"),
    [
        ({"HERE": "1"}, [CPU], ""),
        ({"AT_INDEX": "1"}, ["--extra-index-url", ELSEWHERE, CPU], ""),
        ({}, ["torch"], "several gigabytes larger"),
        ({"HERE": "1", "GPU": "1"}, ["torch"], ""),
        ({"HERE": "1", "GPU": "1", "TORCH": "cpu"}, [CPU], ""),
        ({"HERE": "1", "TORCH": "gpu"}, ["torch"], ""),
        ({"HERE": "1", "SYSTEM": "Darwin"}, ["torch"], ""),
    ],
)
def test_which_torch(
    settings: dict[str, str], chosen: list[str], note: str, tmp_path: Path
) -> None:
    programs = {
        "pip": PIP,
        "nvidia-smi": '#!/bin/bash\n[ "${GPU:-}" = 1 ]\n',
        "uname": '#!/bin/bash\necho "${SYSTEM:-Linux}"\n',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PIP": str(tmp_path / "pip"),
        "TORCH_CPU": "9.9",
        "TORCH_INDEX": ELSEWHERE,
        **settings,
    }
    command = ["bash", str(ROOT / "scripts" / "install.sh"), "torch"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == chosen
    assert note in done.stderr
    assert bool(note) == bool(done.stderr)


def test_no_python_is_said(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHON": "no-such-python", "VENV": str(tmp_path / "venv")}
    command = ["bash", str(ROOT / "scripts" / "install.sh"), "run"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "needs Python 3.11, 3.12 or 3.13" in done.stderr
