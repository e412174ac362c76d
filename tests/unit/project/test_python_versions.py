"""What can be checked of Python 3.11 to 3.13 with one of them (scripts/check_wheels.py asks for
the wheels)."""

import ast
import subprocess
import sys
import tomllib

import pytest

from tests.unit.project.tree import ROOT, imports, modules

GONE = {
    *("asynchat", "asyncore", "distutils", "imp", "smtpd"),  # with 3.12
    *("aifc", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "lib2to3", "mailcap"),
    *("msilib", "nis", "nntplib", "ossaudiodev", "pipes", "sndhdr", "spwd", "sunau", "telnetlib"),
    *("uu", "xdrlib"),  # with 3.13
}

NEWER_SYNTAX = "UP040,UP043,UP046,UP047,UP049"
"""Rules that ask for what 3.11 does not have: `class Registry[T]`, defaults of type arguments."""


@pytest.mark.parametrize("target", ["py311", "py312", "py313"])
def test_ruff_finds_nothing_for_that_version(target: str) -> None:
    command = [sys.executable, "-m", "ruff", "check", "--quiet", "--no-cache"]
    command += ["--target-version", target, "--extend-ignore", NEWER_SYNTAX, "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_oldest_syntax_suffices() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 11))


def test_nothing_imports_what_later_versions_lack() -> None:
    tops = {entry.module.split(".")[0] for module in modules() for entry in imports(module)}
    assert tops & GONE == set()


def test_versions_are_declared_alike() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["requires-python"] == ">=3.11,<3.14"
    assert settings["tool"]["ruff"]["target-version"] == "py311"
    assert settings["tool"]["mypy"]["python_version"] == "3.11"
    named = [c.rsplit(" ", 1)[-1] for c in settings["project"]["classifiers"] if "3." in c]
    assert named == ["3.11", "3.12", "3.13"]
