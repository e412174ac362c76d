"""Private environments: built once, whole or not at all. What installs is a stand-in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bakeoff.cli.main import app
from bakeoff.core.errors import InstallFailed
from bakeoff.engines import environments
from bakeoff.engines.environments import Done, Recipe, build, last_lines, python_of, remove, run
from bakeoff.engines.openvino import tools

RECIPE = Recipe("openvino", "2.13.0", ("optimum-intel==2.2.0",), ("torchvision",), "import optimum")


@dataclass
class FakePip:
    """Runs nothing; notes what would be run, and makes the folder of an environment."""

    no_builds: tuple[str, ...] = ()
    fails: Callable[[Sequence[str]], Done | None] = lambda command: None
    commands: list[list[str]] = field(default_factory=list)

    def __call__(self, command: Sequence[str]) -> Done:
        self.commands.append(list(command))
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
            (Path(command[-1]) / "bin" / "python").touch()
        failure = self.fails(command)
        if failure is not None:
            return failure
        probe = "--dry-run" in command
        return Done(int(probe and any(word in command for word in self.no_builds)), "")

    def asked(self, word: str) -> list[list[str]]:
        return [command for command in self.commands if word in command]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def left(home: Path) -> list[str]:
    folder = home / "environments"
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_it_is_built_once_and_used_again(home: Path) -> None:
    pip, said = FakePip(), []
    assert python_of(RECIPE) is None
    python = build(RECIPE, pip, said.append)
    assert python == python_of(RECIPE)
    assert python.is_relative_to(home)
    assert left(home) == [f"openvino-{RECIPE.key}"]
    assert any("some minutes" in text for text in said)
    assert build(RECIPE, FakePip(fails=lambda command: Done(1, "no network"))) == python


def test_one_command_installs_everything_and_what_is_unwanted_goes(home: Path) -> None:
    pip = FakePip()
    build(RECIPE, pip)
    (install,) = [one for one in pip.asked("install") if "--dry-run" not in one]
    assert "optimum-intel==2.2.0" in install
    assert any(word.startswith("torch==2.13.0") for word in install)
    assert "torchvision" in pip.asked("uninstall")[0]
    assert pip.commands[-1][-1] == "import optimum"
    for command in pip.commands[1:]:  # what PYTHONPATH names has no part in it
        assert command[1] == "-I"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the usual build is for CPUs")
@pytest.mark.parametrize(
    ("absent", "taken"),
    [
        ((), ["torch==2.13.0+cpu"]),
        (("torch==2.13.0+cpu",), ["torch==2.13.0"]),
    ],
)
def test_the_cpu_build_of_torch_is_taken_where_there_is_one(
    absent: tuple[str, ...], taken: list[str]
) -> None:
    pip = FakePip(no_builds=absent)
    build(RECIPE, pip)
    (install,) = [one for one in pip.asked("install") if "--dry-run" not in one]
    assert [word for word in install if word.startswith("torch")] == taken


@pytest.mark.parametrize("step", ["venv", "install", "uninstall", "import optimum"])
def test_a_step_that_fails_is_told_and_leaves_nothing(home: Path, step: str) -> None:
    said = "Collecting\nERROR: No matching distribution found for optimum-intel\nnote: bye"
    plain = lambda command: step in command and "--dry-run" not in command  # noqa: E731
    pip = FakePip(fails=lambda command: Done(1, said) if plain(command) else None)
    with pytest.raises(InstallFailed) as caught:
        build(RECIPE, pip)
    assert "No matching distribution" in caught.value.message
    assert "Collecting" not in caught.value.message
    assert "status 1" in caught.value.message
    assert left(home) == []
    assert build(RECIPE, FakePip()) == python_of(RECIPE)


def test_ctrl_c_leaves_nothing(home: Path) -> None:
    def stop(command: Sequence[str]) -> Done | None:
        if "--quiet" in command and "--dry-run" not in command:
            raise KeyboardInterrupt
        return None

    with pytest.raises(KeyboardInterrupt):
        build(RECIPE, FakePip(fails=stop))
    assert left(home) == []


def test_what_a_killed_build_left_is_not_there_and_goes(home: Path) -> None:
    half = home / "environments" / f"openvino-{RECIPE.key}.tmp-dead" / "bin"
    half.mkdir(parents=True)
    assert python_of(RECIPE) is None
    build(RECIPE, FakePip())
    assert left(home) == [f"openvino-{RECIPE.key}"]


def test_an_environment_for_other_versions_is_replaced(home: Path) -> None:
    build(replace(RECIPE, torch="2.12.0"), FakePip())
    build(RECIPE, FakePip())
    assert left(home) == [f"openvino-{RECIPE.key}"]


def test_it_can_be_removed(home: Path) -> None:
    assert not remove(RECIPE)
    build(RECIPE, FakePip())
    assert remove(RECIPE)
    assert python_of(RECIPE) is None
    assert left(home) == []


def test_commands_see_no_token_and_their_errors_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    code = "import os, sys; print(os.environ.get('HF_TOKEN')); sys.exit('went wrong')"
    done = run([sys.executable, "-c", code])
    assert done == Done(1, "None\nwent wrong\n")


def test_the_end_of_what_was_said() -> None:
    assert last_lines("a\nERROR: b\n\nc\n", "ERROR") == "ERROR: b"
    assert last_lines("a\n\nc\n", "ERROR") == "a | c"
    assert last_lines("") == "it said nothing"


def test_the_commands(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, pip = CliRunner(), FakePip()
    monkeypatch.setattr(tools, "build", lambda recipe, say: environments.build(recipe, pip, say))
    first = runner.invoke(app, ["engines", "add", "openvino"])
    assert first.exit_code == 0, first.output
    assert str(home) in first.output
    assert "already" in runner.invoke(app, ["engines", "add", "openvino"]).output
    assert len(pip.asked("venv")) == 1
    assert "deleted" in runner.invoke(app, ["engines", "remove", "openvino"]).output
    assert "not there" in runner.invoke(app, ["engines", "remove", "openvino"]).output


def test_the_list_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    real = metadata.version

    def without(name: str) -> str:
        if name.startswith("openvino"):
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", without)
    lines = CliRunner().invoke(app, ["engines", "list"]).output.splitlines()
    said = {line.split()[0]: line for line in lines}
    assert "pip install 'bakeoff[openvino]'" in said["openvino"]
    assert "ready" in said["transformers"]
    monkeypatch.setattr(metadata, "version", lambda name: "1.0")
    said = CliRunner().invoke(app, ["engines", "list", "--json"]).output
    assert "bakeoff engines add openvino" in said
