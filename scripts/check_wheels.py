"""Asks pip whether everything bakeoff depends on installs from wheels, for every Python.

Nothing is installed or downloaded beyond metadata; it needs a package index.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64")


def dependencies() -> list[str]:
    """What pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [str(line) for line in project["dependencies"]]


def problem(requirement: str, python: str) -> str:
    """What pip says against a requirement; empty if it would install."""
    with tempfile.TemporaryDirectory() as target:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "-qq"]
        command += ["--only-binary=:all:", "--implementation", "cp", "--target", target]
        command += ["--python-version", python, "--abi", "cp" + python.replace(".", "")]
        command += ["--abi", "abi3", "--abi", "none"]
        command += [f"--platform={name}" for name in PLATFORMS]
        done = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["?"])[-1]


def main() -> int:
    """Print a line for each dependency; return the exit code."""
    failed = False
    for requirement in dependencies():
        name = re.split(r"[<>=!~;\[ ]", requirement)[0]
        wrong = {python: said for python in PYTHONS if (said := problem(requirement, python))}
        failed = failed or bool(wrong)
        print(f"{name}: {'; '.join(f'{p}: {s}' for p, s in wrong.items()) or 'wheels'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
