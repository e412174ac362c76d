"""A commented spec for a data file: guesses from its columns, questions where they are unsure."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import typer
import yaml

from bakeoff.cli.plain import one_line
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
_PLAIN = re.compile(r"[^\W\d_][\w-]*")
_WIDTH = 10**9
_BASELINES = {"summarization": "baseline://lead-3"}


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


def draft(wishes: Wishes) -> str:
    """The spec's text; it parses.

    Raises:
        CallerError: the data cannot be read, or a flag does not fit.
    """
    local_path(wishes.data, Path.cwd())
    dataset = open_dataset(DatasetSpec(path=wishes.data), Path.cwd())
    kind = _task(wishes, dataset)
    columns = _columns(wishes, kind, dataset)
    models = _models(wishes, kind)
    text = _text(wishes, dataset, kind, columns, models)
    parse_spec(yaml.safe_load(text), "the new spec")
    return text


def _task(wishes: Wishes, dataset: Dataset) -> str:
    if wishes.task is not None:
        TASKS.get(wishes.task)
        return wishes.task
    guess = next((kind for kind in _GUESSED if _fits(kind, dataset)), "text-generation")
    if wishes.ask:
        kinds = ", ".join(TASKS)
        return _ask(f"What is asked of each row? ({kinds})", TASKS.names(), guess)
    return guess


def fitting(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """Tasks that the columns' names suggest, and which column would play which role."""
    found: dict[str, dict[str, Any]] = {}
    names = names_of(dataset.columns, islice(dataset.rows(), 50))
    for kind in _GUESSED:
        if not _fits(kind, dataset):
            continue
        try:
            choice = choose(names, ColumnsSpec(), TASKS.get(kind).roles)  # type: ignore[attr-defined]
        except CallerError:
            continue
        found[kind] = {role: c[0] if len(c) == 1 else list(c) for role, c in choice.columns.items()}
    return found


def _fits(kind: str, dataset: Dataset) -> bool:
    """Whether the columns' names fit the task's roles, reference included."""
    roles = TASKS.get(kind).roles  # type: ignore[attr-defined]
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
    roles: Roles = TASKS.get(kind).roles  # type: ignore[attr-defined]
    said: dict[str, object] = dict(wishes.columns)
    for name in said:
        if name not in ColumnsSpec.model_fields:
            raise unknown("role in --column", name, tuple(ColumnsSpec.model_fields))
    for column in said.values():
        if column not in dataset.columns:
            raise unknown("column", str(column), dataset.columns)
    numbered = [c for c in dataset.columns if re.fullmatch(r"(summary|reference|answer)\d+", c)]
    if "reference" not in said and numbered and "reference" in roles.optional:
        said["reference"] = numbered
    try:
        spec = parse_part(ColumnsSpec, said, "--column")
        return map_roles(dataset, spec, roles).shown()
    except CallerError:
        if not wishes.ask:
            raise
    for role in roles.required:
        if role not in said:
            listed = _listed(dataset.columns)
            said[role] = _ask(f"Which column is the {role}? ({listed})", dataset.columns)
    return map_roles(dataset, parse_part(ColumnsSpec, said, "--column"), roles).shown()


def _ask(question: str, known: Sequence[str], default: str | None = None) -> str:
    """Ask until the answer is one of the known names."""

    def check(said: str) -> str:
        if said not in known:
            raise typer.BadParameter(unknown("answer", said, tuple(known[:20])).message)
        return said

    answer: str = typer.prompt(one_line(question), default=default, value_proc=check)
    return answer


def _listed(columns: Sequence[str]) -> str:
    more = f", ... ({len(columns)} in all)" if len(columns) > 20 else ""
    return one_line(", ".join(columns[:20])) + more


def _models(wishes: Wishes, kind: str) -> Sequence[str]:
    if wishes.models:
        return wishes.models
    if wishes.ask:
        said: str = typer.prompt("Which models? (hf://org/name, folders; commas between)")
        return [part.strip() for part in said.split(",") if part.strip()]
    raise InvalidRequest("name at least one model: --model hf://org/name, or a local folder")


def _text(
    wishes: Wishes,
    dataset: Dataset,
    kind: str,
    columns: Mapping[str, object],
    models: Sequence[str],
) -> str:
    name = wishes.name or re.sub(r"[^A-Za-z0-9._-]+", "-", Path(wishes.data).stem).strip("-.")
    if not name:
        raise InvalidSpec(f"{wishes.data!r} gives no name: pass --name")
    baseline = _BASELINES.get(kind)
    lines = [
        "# Which model is best on these rows? Carry out with: bakeoff run FILE",
        f"name: {_scalar(name)}",
        f"dataset: {_scalar(_path(wishes))}",
        f"# columns of the file: {_listed(dataset.columns)}",
        f"columns: {_inline(columns)}",
        f"task: {_scalar(kind)}",
        "generation: {max_new_tokens: 128}  # greedy; any field may also stand in a model's entry",
        "# metrics: [rouge, chrf]  # the task's own where this line is absent",
        "# repeats: 1  # more than 1 shows how much a sampled answer varies",
        "models:",
        *(f"  - {_scalar(model)}" for model in models),
    ]
    if baseline is not None and baseline not in models:
        lines.append(f"  - {baseline}  # what no model at all would score")
    return "\n".join(lines) + "\n"


def _path(wishes: Wishes) -> str:
    if "://" in wishes.data or wishes.data == "-":
        return wishes.data
    return os.path.relpath(Path(wishes.data).resolve(), wishes.beside)


def _scalar(text: str) -> str:
    """A text on one line of YAML: plain where that can be read back, else in double quotes."""
    dumped: str = yaml.safe_dump(text, allow_unicode=True, width=_WIDTH)
    line = dumped.removesuffix("...\n").rstrip("\n")
    return line if "\n" not in line and text.isprintable() else _quoted(text)


def _inline(values: Mapping[str, object]) -> str:
    """A mapping of names to texts or lists of texts, between braces on one line."""
    parts = (f"{_word(name)}: {_part(value)}" for name, value in values.items())
    return "{" + ", ".join(parts) + "}"


def _part(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_word(str(item)) for item in value) + "]"
    return _word(str(value))


def _word(text: str) -> str:
    if _PLAIN.fullmatch(text) and yaml.safe_load(text) == text:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    dumped: str = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=_WIDTH)
    return dumped.rstrip("\n")
