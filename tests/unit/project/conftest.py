"""The built wheel, and an environment in which it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.unit.project.tree import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from what the source archive holds, as an index would get both."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, "sdist", folder)
    (archive,) = folder.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", archive.name], cwd=folder, check=True)
    build(folder / archive.name.removesuffix(".tar.gz"), "wheel", folder)
    (built,) = folder.glob("*.whl")
    return built


def build(source: Path, kind: str, folder: Path) -> None:
    """Run hatchling without a network and without an environment of its own."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `python` and `bakeoff` in an environment that holds the wheel.

    Its dependencies are those of the environment that runs the tests, whose own bakeoff it does
    not see: a path in a .pth file is searched, the .pth files in that path are not read.
    """
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps"]
    pip += ["--no-index", "--quiet", "--disable-pip-version-check", str(wheel)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(pip, env=environment, check=True, capture_output=True)
    query = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = subprocess.run([python, "-c", query], capture_output=True, text=True, check=True)
    dependencies = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
    path = Path(found.stdout.strip()) / "dependencies.pth"
    path.write_text("\n".join(dependencies) + "\n", encoding="utf-8")
    return python.parent
