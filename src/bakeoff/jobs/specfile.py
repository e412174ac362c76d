"""A spec from a YAML or JSON file or a mapping, with errors that name file, line and key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from bakeoff.core.errors import InvalidSpec, UnknownName, UnsupportedOption
from bakeoff.core.specs import RunSpec, Spec
from bakeoff.jobs.specfaults import Fault, Origin, faults_of
from bakeoff.jobs.specyaml import Loc, UniqueKeyLoader, broken, line_of

_MOST_BYTES = 8 * 1024 * 1024
_MOST_VALUES = 200_000
"""Of a spec once its aliases are followed: a few lines of aliases can stand for billions."""
_LARGEST = 2**63 - 1
_DATA = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".arrow")


def load_spec(path: Path) -> RunSpec:
    """Read a spec file.

    Raises:
        InvalidSpec: the file is missing, is not YAML, or does not describe a run.
    """
    text = _read(path)
    try:
        values = yaml.load(text, Loader=UniqueKeyLoader)
    except (yaml.YAMLError, RecursionError) as problem:
        line, said = broken(problem, text)
        place = f"{path}, line {line}" if line else str(path)
        raise InvalidSpec(f"{place}: this is not YAML: {said}") from problem
    if not isinstance(values, dict):
        raise InvalidSpec(
            f"{path} holds no mapping: a spec begins with `name:`; where it is data, "
            f"`bakeoff init {path}` writes a spec for it"
        )
    _refuse_endless(values, path)
    return parse_spec(values, Origin(str(path), line=partial(line_of, text)))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if path.suffix.lower() in _DATA:
                raise InvalidSpec(
                    f"{path} is data, and no spec: `bakeoff init {path}` writes a spec for it"
                )
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise InvalidSpec(f"{path} is no spec: it has more than {_MOST_BYTES} bytes")
        return data.decode("utf-8-sig")
    except FileNotFoundError as problem:
        raise InvalidSpec(f"{path}: no such file; bakeoff init writes one") from problem
    except OSError as problem:
        raise InvalidSpec(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except UnicodeDecodeError as problem:
        raise InvalidSpec(f"{path} cannot be read: it is not UTF-8 ({problem})") from problem


def _refuse_endless(values: Any, path: Path) -> None:
    """Aliases that stand inside themselves, or for more values than a spec can have."""
    sizes: dict[int, int | None] = {}

    def size(value: Any) -> int:
        if not isinstance(value, (dict, list, set, tuple)):
            return 1
        known = sizes.get(id(value), 0)
        if known is None:
            raise InvalidSpec(f"{path}: an alias (*) stands inside what it is an alias of")
        if known:
            return known
        sizes[id(value)] = None
        parts = value.values() if isinstance(value, dict) else value
        found = 1 + sum(map(size, parts))
        sizes[id(value)] = found
        return found

    if size(values) > _MOST_VALUES:
        raise InvalidSpec(f"{path}: with its aliases (*) it has more than {_MOST_VALUES} values")


def parse_spec(values: Mapping[str, Any], where: str | Origin = "spec") -> RunSpec:
    """Check a mapping.

    Raises:
        InvalidSpec: all mistakes at once, each with the path of its key.
    """
    return parse_part(RunSpec, values, where)


PartT = TypeVar("PartT", bound=Spec)


def parse_part(kind: type[PartT], values: Mapping[str, Any], where: str | Origin) -> PartT:
    """Check a part of a spec on its own, for example a data set given by flags.

    Raises:
        InvalidSpec: as `parse_spec`.
    """
    origin = Origin(where) if isinstance(where, str) else where
    try:
        made = kind.model_validate(dict(values))
    except ValidationError as problem:
        raise InvalidSpec(origin.said(faults_of(problem, kind))) from problem
    check_numbers(made, origin)
    return made


@contextmanager
def named(file: Path) -> Iterator[None]:
    """Let mistakes that only planning finds (a metric, a template) name the spec's file."""
    try:
        yield
    except (InvalidSpec, UnknownName, UnsupportedOption) as problem:
        if not problem.message.startswith(str(file)):
            problem.message = f"{file}: {problem.message}"
            problem.args = (problem.message,)
        raise


def check_numbers(spec: Spec, where: str | Origin = "spec") -> None:
    """Refuse numbers that no file, library or machine can hold.

    Raises:
        InvalidSpec: NaN, an infinity, or a whole number over 2^63 - 1; all of them are named.
    """
    origin = Origin(where) if isinstance(where, str) else where
    wrong = [
        Fault(loc, f" is {_said(value)}: write a number up to {_LARGEST}")
        for loc, value in _numbers(spec.model_dump(), ())
        if not abs(value) <= _LARGEST  # NaN is neither
    ]
    if wrong:
        raise InvalidSpec(origin.said(wrong))


def _said(value: int | float) -> str:
    return str(value) if isinstance(value, float) or abs(value) < 10**40 else "too large"


def _numbers(value: Any, loc: Loc) -> Iterator[tuple[Loc, int | float]]:
    if isinstance(value, (int, float)):
        yield loc, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _numbers(part, (*loc, str(key)))
    elif isinstance(value, (list, tuple)):
        for place, part in enumerate(value):
            yield from _numbers(part, (*loc, place))
