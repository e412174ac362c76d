"""What `bakeoff init` asks on a terminal, each question until its answer fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import typer

from bakeoff.cli.plain import one_line
from bakeoff.core.errors import BakeoffError, CallerError
from bakeoff.core.modelref import ModelRef
from bakeoff.core.registry import near_matches, unknown
from bakeoff.datasets.guessing import MANY
from bakeoff.engines import describe

_SHOWN = 20
_WHAT = "write hf://org/name, a folder of model files, baseline://lead-3 or fake://echo"

T = TypeVar("T")


def _ask(question: str, read: Callable[[str], T], default: str | None = None) -> T:
    """Ask until the answer can be read; `read` raises `BadParameter` where it cannot."""
    answer: T = typer.prompt(
        one_line(question), default=default, value_proc=read, show_default=bool(default)
    )
    return answer


def ask_task(kinds: Sequence[str], guess: str) -> str:
    """What is asked of each row."""
    return _ask(
        f"What is asked of each row? ({', '.join(kinds)})", lambda said: _known(said, kinds), guess
    )


def _known(said: str, known: Sequence[str]) -> str:
    if said not in known:
        raise typer.BadParameter(unknown("answer", said, tuple(known[:_SHOWN])).message)
    return said


@dataclass(frozen=True, slots=True)
class Asking:
    """Roles to ask for, in order, and the columns that can play them."""

    required: Sequence[str]
    optional: Sequence[str]
    columns: Sequence[str]
    guessed: Mapping[str, Sequence[str]]


def ask_columns(
    asking: Asking, check: Callable[[str, str | list[str]], None]
) -> dict[str, str | list[str]]:
    """A column, or several, for each role; roles that stay empty are absent.

    `check` raises a `CallerError` where the columns cannot play the role.
    """
    found: dict[str, str | list[str]] = {}
    for role in (*asking.required, *asking.optional):
        guess = ", ".join(asking.guessed.get(role, ()))
        must = role in asking.required
        blank = "" if must or guess else "; blank: none"
        many = "; commas between several" if role in MANY else ""
        chosen = _ask(
            f"Which column is the {role}? ({listed(asking.columns)}{many}{blank})",
            _Reader(asking.columns, role, must, check),
            guess or (None if must else ""),
        )
        if chosen:
            found[role] = chosen
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads an answer as names of columns."""

    columns: Sequence[str]
    role: str
    must: bool
    check: Callable[[str, str | list[str]], None]

    def __call__(self, said: str) -> str | list[str]:
        names = self._names(said)
        chosen = names[0] if len(names) == 1 else names
        try:
            if chosen:
                self.check(self.role, chosen)
        except CallerError as problem:
            raise typer.BadParameter(one_line(problem.message)) from problem
        return chosen

    def _names(self, said: str) -> list[str]:
        if said in self.columns:
            return [said]
        if not self.must and not said.strip():
            return []
        parts = [part.strip() for part in said.split(",")] if self.role in MANY else [said]
        return [_known(part, self.columns) for part in parts]


def listed(columns: Sequence[str]) -> str:
    """Names of columns, not all of very many."""
    more = f", ... ({len(columns)} in all)" if len(columns) > _SHOWN else ""
    return one_line(", ".join(columns[:_SHOWN])) + more


def ask_models(columns: Sequence[str]) -> list[str]:
    """References of models that exist, as far as can be told without a network."""

    def read(said: str) -> list[str]:
        models = [part.strip() for part in said.split(",") if part.strip()]
        if not models:
            raise typer.BadParameter(f"name at least one: {_WHAT}")
        for model in models:
            problem = wrong_model(model, columns)
            if problem:
                raise typer.BadParameter(one_line(problem))
        return models

    return _ask("Which models? (hf://org/name, folders, baseline://...; commas between)", read)


def wrong_model(text: str, columns: Sequence[str]) -> str:
    """Why a text names no model; empty where it may."""
    try:
        ref = ModelRef.parse(text)
        if ref.scheme in ("fake", "baseline"):
            column = describe(ref).reads_column
            if column is not None and column not in columns:
                return unknown("column", column, tuple(columns[:_SHOWN])).message
    except BakeoffError as problem:
        return problem.message
    except (ValueError, RuntimeError) as problem:  # RuntimeError: an unknown ~user
        said = str(problem).splitlines()[0]
        return said if "://" in text else said + _near_folder(text, Path(text))
    return _wrong_place(text, ref.path) if ref.scheme == "file" else ""


def _wrong_place(text: str, path: Path) -> str:
    try:
        if path.is_dir():
            some = any(any(path.glob(name)) for name in ("config.json", "*.gguf", "adapter_*.json"))
            return "" if some else f"{text!r} holds no model (no config.json): {_WHAT}"
        if path.exists():
            return "" if path.suffix == ".gguf" else f"{text!r} is no model: {_WHAT}"
    except OSError as problem:
        return f"{text!r} cannot be read: {problem.strerror}"
    return f"there is no folder {text!r}: {_WHAT}{_near_folder(text, path)}"


def _near_folder(text: str, path: Path) -> str:
    try:
        near = near_matches(path.name, [entry.name for entry in path.parent.iterdir()])
    except OSError:
        return ""
    return f"; did you mean {str(Path(text).parent / near[0])!r}?" if near else ""
