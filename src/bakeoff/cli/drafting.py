"""A commented spec for a data file: guesses from its columns, questions where they are unsure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from bakeoff.cli.datashow import Guesses
from bakeoff.cli.flagwords import FLAGS, as_flags, worded
from bakeoff.cli.questions import Asking, ask_columns, ask_models, ask_task
from bakeoff.cli.specwriting import NewSpec, lacking_roles, written
from bakeoff.core.errors import CallerError, InvalidRequest, InvalidSpec
from bakeoff.core.ports import Dataset, Roles
from bakeoff.core.registry import unknown
from bakeoff.core.specs import ColumnsSpec, DatasetSpec
from bakeoff.datasets import open_dataset
from bakeoff.datasets.guessing import choose, names_of
from bakeoff.datasets.roles import map_roles
from bakeoff.jobs.data import local_path
from bakeoff.jobs.specfile import parse_part, parse_spec
from bakeoff.tasks import TASKS

_GUESSED = (
    "question-answering",
    "multiple-choice",
    "text-classification",
    "summarization",
    "translation",
)
_ANY = "text-generation"
"""The task that takes any text."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """The flags of `bakeoff init`; `ask` allows questions on the terminal."""

    data: str
    beside: Path
    task: str | None
    models: tuple[str, ...]
    columns: Mapping[str, str]
    name: str | None
    ask: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """A new spec.

    Attributes:
        text: as it is written; it parses.
        left_out: roles that nothing was found for, in words; empty where they were asked for.
    """

    text: str
    left_out: tuple[str, ...]


def draft(wishes: Wishes) -> Draft:
    """Make the spec.

    Raises:
        CallerError: the data cannot be read, or a flag does not fit.
    """
    local_path(wishes.data, Path.cwd())
    dataset = open_dataset(DatasetSpec(path=wishes.data), Path.cwd())
    kind = _task(wishes, dataset)
    with worded(as_flags):
        columns = _columns(wishes, kind, dataset)
    models = _models(wishes, dataset)
    text = written(
        NewSpec(_name(wishes), _path(wishes), dataset.columns, columns, kind, tuple(models))
    )
    parse_spec(yaml.safe_load(text), "the new spec")
    lacking = (f"{said}; -c {role}=COLUMN names it" for role, said in lacking_roles(columns))
    return Draft(text, () if wishes.ask else tuple(lacking))


def _task(wishes: Wishes, dataset: Dataset) -> str:
    if wishes.task is not None:
        TASKS.get(wishes.task)
        return wishes.task
    guess = next((kind for kind in _GUESSED if _fits(kind, dataset)), _ANY)
    return ask_task(TASKS.names(), guess) if wishes.ask else guess


def fitting(dataset: Dataset) -> Guesses:
    """Tasks and roles that the columns' names suggest."""
    tasks: dict[str, dict[str, Any]] = {}
    for kind in _GUESSED:
        chosen = _guesses(dataset, _roles(kind)) if _fits(kind, dataset) else None
        if chosen is not None:
            tasks[kind] = chosen
    any_ = _roles(_ANY)
    plain = Roles((), (*any_.required, *any_.optional), any_.guesses)
    roles = _guesses(dataset, plain) or {}
    return Guesses(tasks, roles, _unfit(dataset, next(iter(tasks.values()), roles)))


def _unfit(dataset: Dataset, roles: Mapping[str, Any]) -> tuple[str, ...]:
    """Why columns cannot play their roles: ids that repeat, cells of a wrong kind."""
    try:
        _check(dataset, roles)
    except CallerError as problem:
        return (problem.message,)
    return ()


def _roles(kind: str) -> Roles:
    roles: Roles = TASKS.get(kind).roles  # type: ignore[attr-defined]
    return roles


def _guesses(dataset: Dataset, roles: Roles) -> dict[str, Any] | None:
    """Role to column, or to several; None where a role that is required has none."""
    names = names_of(dataset.columns, islice(dataset.rows(), 50))
    try:
        chosen = choose(names, ColumnsSpec(), roles).columns
    except CallerError:
        return None
    return {role: c[0] if len(c) == 1 else list(c) for role, c in chosen.items()}


def _fits(kind: str, dataset: Dataset) -> bool:
    """Whether the columns' names fit the task's roles, reference included."""
    roles = _roles(kind)
    plain = {_plain(column) for column in dataset.columns}
    wanted = (*roles.required, "reference")
    if kind == "text-classification":
        return bool(plain & {"label", "class", "category"}) and _any(roles, "source", plain)
    if kind == "summarization":
        return bool(plain & {"summary", "highlights", "dialogue", "article"} or _numbered(plain))
    if kind == "translation":
        return bool(plain & {"translation"})
    return all(_any(roles, role, plain) for role in wanted)


def _any(roles: Roles, role: str, plain: set[str]) -> bool:
    return bool(plain & {_plain(name) for name in roles.guesses.get(role, ())})


def _numbered(plain: set[str]) -> bool:
    return any(re.fullmatch(r"summary\d+", name) for name in plain)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())


def _columns(wishes: Wishes, kind: str, dataset: Dataset) -> Mapping[str, object]:
    roles = _roles(kind)
    said = _said(wishes, roles, dataset)
    if not wishes.ask:
        spec = parse_part(ColumnsSpec, said | _numbered_references(said, roles, dataset), FLAGS)
        return map_roles(dataset, spec, roles).shown()
    _check(dataset, said)
    every = tuple(role for role in (*roles.required, *roles.optional) if role not in said)
    guessed = _guesses(dataset, Roles((), every, roles.guesses)) or {}
    guessed |= _numbered_references(said, roles, dataset)
    guessed = {role: [c] if isinstance(c, str) else c for role, c in guessed.items()}
    names = names_of(dataset.columns, islice(dataset.rows(), 50))
    asking = Asking(
        required=[role for role in every if role in roles.required],
        optional=[role for role in every if role in roles.optional],
        columns=(*names.columns, *names.inner),
        guessed=guessed,
    )
    return said | ask_columns(asking, lambda role, chosen: _check(dataset, {role: chosen}))


def _said(wishes: Wishes, roles: Roles, dataset: Dataset) -> dict[str, Any]:
    for name in wishes.columns:
        if name not in ColumnsSpec.model_fields:
            raise unknown("role in --column", name, tuple(ColumnsSpec.model_fields))
    for column in wishes.columns.values():
        if column not in dataset.columns:
            raise unknown("column", column, dataset.columns)
    return dict(wishes.columns)


def _numbered_references(
    said: Mapping[str, object], roles: Roles, dataset: Dataset
) -> dict[str, tuple[str, ...]]:
    found = [c for c in dataset.columns if re.fullmatch(r"(summary|reference|answer)\d+", c)]
    wanted = "reference" not in said and "reference" in roles.optional
    return {"reference": tuple(found)} if found and wanted else {}


def _check(dataset: Dataset, roles: Mapping[str, Any]) -> None:
    """Whether the cells can play the roles.

    Raises:
        CallerError: ids that repeat, or cells of a wrong kind.
    """
    if roles:
        map_roles(dataset, parse_part(ColumnsSpec, roles, FLAGS), Roles((), tuple(roles)))


def _models(wishes: Wishes, dataset: Dataset) -> Sequence[str]:
    if not wishes.models and not wishes.ask:
        raise InvalidRequest("name at least one model: --model hf://org/name, or a local folder")
    if wishes.models:
        return wishes.models
    return [_seen_from(wishes.beside, model) for model in ask_models(dataset.columns)]


def _seen_from(folder: Path, model: str) -> str:
    """A local model as the spec's folder sees it; what does not exist here stays as it is."""
    if "://" in model or os.path.isabs(model) or not os.path.exists(model):
        return model
    if folder == Path.cwd().resolve():
        return model
    return os.path.join(".", os.path.relpath(Path(model).resolve(), folder))


def _name(wishes: Wishes) -> str:
    name = wishes.name or re.sub(r"[^A-Za-z0-9._-]+", "-", Path(wishes.data).stem).strip("-.")
    if not name:
        raise InvalidSpec(f"{wishes.data!r} gives no name: pass --name")
    return name


def _path(wishes: Wishes) -> str:
    if "://" in wishes.data or wishes.data == "-":
        return wishes.data
    return os.path.relpath(Path(wishes.data).resolve(), wishes.beside)
