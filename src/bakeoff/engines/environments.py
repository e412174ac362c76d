"""Private environments: tools that pin other versions than bakeoff itself, built once and kept.

    <home>/environments/<name>-<key>/             an environment, with `ready.json` inside
    <home>/environments/<name>-<key>.tmp-<n>/     one being built, or what a killed process left
    <home>/environments/<name>.lock               held while one is built or removed

Like an entry of the cache it appears whole, by one rename, or not at all; a second process waits
for the first. Unlike one it is never pruned, since making it again takes a network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from bakeoff.core.canonical import digest
from bakeoff.core.errors import InstallFailed
from bakeoff.engines.cache import bakeoff_home

READY = "ready.json"
"""Says inside an environment what it holds; written last."""
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"
"""Where the CPU build of torch is looked for if pip's own sources do not have it."""
_LINES = 12
"""Of what a failing command said, at most."""
SECRET = frozenset({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN"})
"""Variables that no tool needs to see."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an environment is made of.

    Attributes:
        name: of the environment, for example `openvino`.
        torch: version of torch, whose CPU build is taken where there is one.
        requirements: all else, as pip takes it.
        unwanted: packages that come along and are removed again.
        proof: code that runs without an error where the environment is whole.
    """

    name: str
    torch: str
    requirements: tuple[str, ...]
    unwanted: tuple[str, ...] = ()
    proof: str = ""

    @property
    def key(self) -> str:
        """Changes with what is in it."""
        python = f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}"
        parts = [self.torch, self.requirements, self.unwanted, python, sys.platform]
        return digest(parts)[:12]


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended.

    Attributes:
        code: exit status.
        said: what it wrote.
    """

    code: int
    said: str


Run = Callable[[Sequence[str]], Done]
"""Runs a command to its end."""


def run(command: Sequence[str]) -> Done:
    """Run a command without tokens in its environment; it is killed where the caller is stopped."""
    left = {name: value for name, value in os.environ.items() if name not in SECRET}
    done = subprocess.run(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**left, "HF_HUB_OFFLINE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        text=True,
        errors="replace",
        check=False,
    )
    return Done(done.returncode, done.stdout)


def python_of(recipe: Recipe) -> Path | None:
    """The interpreter of a finished environment, or None: it is not there."""
    folder = _folder(recipe)
    return _python(folder) if (folder / READY).is_file() else None


def build(recipe: Recipe, running: Run = run, say: Callable[[str], None] = lambda _: None) -> Path:
    """Its interpreter, after building it where it is not there yet; blocks, for minutes.

    Environments of that name for other versions are removed afterwards.

    Args:
        recipe: what to put into it.
        running: runs commands.
        say: told what is being done.

    Raises:
        InstallFailed: a command failed; the message has what it said. Nothing is left.
    """
    folder = _folder(recipe)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _guard(recipe):
        for leftover in folder.parent.glob(f"{recipe.name}-*.tmp-*"):
            shutil.rmtree(leftover)
        if python_of(recipe) is None:
            working = folder.with_name(f"{folder.name}.tmp-{uuid.uuid4().hex}")
            try:
                _fill(recipe, working, running, say)
                working.rename(folder)
            finally:
                shutil.rmtree(working, ignore_errors=True)  # gone already when it was renamed
        for other in folder.parent.glob(f"{recipe.name}-*"):
            if other != folder:
                shutil.rmtree(other)
    return _python(folder)


def remove(recipe: Recipe) -> bool:
    """Delete every environment of that name; whether there was one."""
    root = _folder(recipe).parent
    if not root.is_dir():
        return False
    with _guard(recipe):
        found = sorted(root.glob(f"{recipe.name}-*"))
        for folder in found:
            (folder / READY).unlink(missing_ok=True)  # half removed is not there
            shutil.rmtree(folder)
    return bool(found)


def last_lines(said: str, mark: str = "") -> str:
    """The end of what a command said in one line; lines that begin with `mark` if there are any."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    marked = [line for line in lines if mark and line.startswith(mark)]
    return " | ".join((marked or lines)[-_LINES:]) or "it said nothing"


def _fill(recipe: Recipe, folder: Path, running: Run, say: Callable[[str], None]) -> None:
    say(f"making an environment for {recipe.name}")
    _step([sys.executable, "-m", "venv", str(folder)], running)
    python = str(_python(folder))
    pip = [python, "-I", "-m", "pip"]
    torch = _torch(pip, recipe.torch, running)
    say(f"installing {', '.join([torch[-1], *recipe.requirements])}; this takes some minutes")
    # one command for all, so that nothing else pulls in another build of torch
    _step([*pip, "install", "--quiet", "--no-input", *torch, *recipe.requirements], running)
    if recipe.unwanted:
        _step([*pip, "uninstall", "--quiet", "--yes", *recipe.unwanted], running)
    if recipe.proof:
        _step([python, "-I", "-c", recipe.proof], running)
    made = {"torch": torch[-1], "requirements": recipe.requirements, "python": sys.version}
    (folder / READY).write_text(json.dumps(made, indent=1), encoding="utf-8")


def _step(command: Sequence[str], running: Run) -> None:
    done = running(command)
    if done.code != 0:
        what = " ".join(command[:6]) + (" ..." if len(command) > 6 else "")
        raise InstallFailed(
            f"`{what}` ended with status {done.code}: {last_lines(done.said, 'ERROR')}; nothing "
            "was left behind, and the same command tries again"
        )


def _torch(pip: Sequence[str], version: str, running: Run) -> list[str]:
    """Arguments for the CPU build: on Linux the usual one brings gigabytes for a GPU."""
    if sys.platform != "linux":
        return [f"torch=={version}"]
    build = f"torch=={version}+cpu"
    look = ["install", "--dry-run", "--no-deps", "--quiet", "--retries", "0", "--timeout", "20"]
    for source in ([], ["--extra-index-url", TORCH_INDEX]):
        if running([*pip, *look, *source, build]).code == 0:
            return [*source, build]
    return [f"torch=={version}"]


def _folder(recipe: Recipe) -> Path:
    return bakeoff_home() / "environments" / f"{recipe.name}-{recipe.key}"


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _guard(recipe: Recipe) -> FileLock:
    return FileLock(_folder(recipe).parent / f"{recipe.name}.lock")
