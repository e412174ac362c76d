"""Specs made from flags, and the run behind `infer` and `evaluate`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
import yaml

from bakeoff.cli.carrying import Carrying, exit_code, run_with_progress
from bakeoff.cli.flagwords import FLAGS, Wording, worded
from bakeoff.core.codes import ExitCode
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.report import Report
from bakeoff.core.specs import RunSpec
from bakeoff.engines.options import EngineOptions
from bakeoff.jobs.specfile import parse_spec
from bakeoff.jobs.specyaml import UniqueKeyLoader
from bakeoff.settings import Settings

EVALUATED = "{{ row }}"


@dataclass(frozen=True, slots=True)
class Asked:
    """The flags of `bakeoff infer` that say what is run, and the run's name."""

    name: str
    data: str
    model: str
    task: str
    template: str | None
    system: str | None
    columns: tuple[str, ...]
    options: tuple[str, ...]
    generation: Mapping[str, Any]
    limit: int | None


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that came to its report.

    Attributes:
        said: notices that were shown already.
    """

    spec: RunSpec
    report: Report
    folder: Path
    said: frozenset[str] = frozenset()

    def leave(self) -> None:
        """Leave with the exit code that fits.

        Raises:
            typer.Exit: unless every row succeeded.
        """
        code = exit_code(self.report)
        if code is not ExitCode.OK:
            raise typer.Exit(int(code))


def pairs(flags: Sequence[str], what: str) -> dict[str, str]:
    """`NAME=VALUE` flags as a mapping.

    Raises:
        InvalidRequest: a flag without `=`, or a name given twice.
    """
    found: dict[str, str] = {}
    for flag in flags:
        name, equals, value = flag.partition("=")
        if not equals or not name:
            raise InvalidRequest(f"{what} {flag!r}: write NAME=VALUE")
        if name in found:
            raise InvalidRequest(f"{what} {name!r} is given twice")
        found[name] = value
    return found


def infer_spec(asked: Asked) -> RunSpec:
    """The spec behind `bakeoff infer`.

    Raises:
        InvalidSpec: a flag does not fit.
    """
    options = option_values(asked.options)
    generation = {k: v for k, v in asked.generation.items() if v is not None}
    prompt = {"template": asked.template, "system": asked.system}
    entry: dict[str, Any] = {"model": asked.model, **generation, **options}
    if any(prompt.values()):
        entry["prompt"] = {k: v for k, v in prompt.items() if v is not None}
    dataset: dict[str, Any] = {"path": asked.data}
    if asked.limit is not None:
        dataset["limit"] = asked.limit
    return parse_spec(
        {
            "name": asked.name,
            "dataset": dataset,
            "columns": pairs(asked.columns, "--column"),
            "task": _task(asked),
            "metrics": [],
            "models": [entry],
        },
        FLAGS,
    )


def option_values(flags: Sequence[str]) -> dict[str, Any]:
    """`--option NAME=VALUE` flags, each value read as YAML.

    Raises:
        InvalidRequest: a flag without `=`, a name given twice, or a value that is no YAML.
    """
    return {name: _value(name, text) for name, text in pairs(flags, "--option").items()}


def _value(name: str, text: str) -> Any:
    try:
        return yaml.load(text, Loader=UniqueKeyLoader)
    except (yaml.YAMLError, ValueError) as problem:
        said = " ".join(str(problem).split())
        raise InvalidRequest(f"--option {name}={text!r} is no YAML value: {said}") from problem


def _task(asked: Asked) -> dict[str, Any]:
    task: dict[str, Any] = {"kind": asked.task}
    if asked.task == "custom" and asked.template:
        task["template"] = asked.template
    return task


def evaluate_spec(
    data: str,
    predictions: Sequence[str],
    columns: Mapping[str, Any],
    metrics: Sequence[str],
    name: str,
) -> RunSpec:
    """The spec behind `bakeoff evaluate`: each column of predictions is a contender.

    Raises:
        InvalidRequest: a column is given twice, or no metric.
        InvalidSpec: a flag does not fit.
    """
    if not metrics:
        raise InvalidRequest("--metrics names no metric: write for example rouge,chrf")
    return parse_spec(
        {
            "name": name,
            "dataset": data,
            "columns": {role: column for role, column in columns.items() if column},
            "task": {"kind": "custom", "template": EVALUATED},
            "metrics": list(metrics),
            "models": [
                {"id": model_id, "model": f"baseline://column/{column}"}
                for column, model_id in column_ids(predictions).items()
            ],
        },
        FLAGS,
    )


def column_ids(columns: Sequence[str]) -> dict[str, str]:
    """A model id for each column: its name as far as a folder can have it, told apart by number.

    Raises:
        InvalidRequest: a column is given twice.
    """
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for number, column in enumerate(columns, 1):
        if column in ids:
            raise InvalidRequest(f"--predictions {column!r} is given twice: name it once")
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", column).strip("-._")[:80]
        plain = plain or f"column-{number}"
        while plain.casefold() in taken:
            plain = f"{plain}-{number}"
        taken.add(plain.casefold())
        ids[column] = plain
    return ids


def run_quietly(
    spec: RunSpec,
    runs: Path | None,
    fresh: bool,
    wording: Wording,
    before: Callable[[RunSpec], None] | None = None,
) -> Finished:
    """Carry out a spec in its run folder, with progress but without the leaderboard.

    `before` may refuse the spec before anything is started.
    """
    if before is not None:
        before(spec)
    flags = Carrying(
        base=Path.cwd(),
        runs=runs,
        fresh=fresh,
        wait=0.0,
        json=False,
        quiet=False,
        engine=EngineOptions(),
        latency_rows=0,
        wording=wording,
    )
    with worded(wording):
        told = run_with_progress(spec, flags)
    return Finished(spec, told.report, (runs or Settings.read().runs) / spec.name, told.said)
