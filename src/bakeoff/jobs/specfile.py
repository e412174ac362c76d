"""A spec from a YAML or JSON file or a mapping, with errors that name file, line and key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.registry import near_matches
from bakeoff.core.specs import (
    ColumnsSpec,
    DatasetSpec,
    DecideSpec,
    GenerationSpec,
    MetricSpec,
    ModelEntry,
    PromptSpec,
    RunSpec,
    Spec,
    TaskSpec,
)

_MOST_BYTES = 8 * 1024 * 1024
_MOST_VALUES = 200_000
"""Of a spec once its aliases are followed: a few lines of aliases can stand for billions."""
_LARGEST = 2**63 - 1
_MERGE = "tag:yaml.org,2002:merge"

_PARTS: dict[str, type[Spec]] = {
    "dataset": DatasetSpec,
    "columns": ColumnsSpec,
    "task": TaskSpec,
    "generation": GenerationSpec,
    "decide": DecideSpec,
    "models": ModelEntry,
    "metrics": MetricSpec,
    "prompt": PromptSpec,
}


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML's safe loader, except that a key given twice is an error and not the last one wins."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as problem:
            # what YAML's own types raise where a value does not fit, without saying where
            kind = str(node.tag).rpartition(":")[2]
            said = _shortened(repr(node.value)) if isinstance(node.value, str) else "this"
            raise yaml.constructor.ConstructorError(
                None, None, f"{said} is no {kind}: put it between quotes", node.start_mark
            ) from problem

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(
                None, None, "a mapping is due here", node.start_mark
            )
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, (str, int)) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands here twice", key_node.start_mark
                )
            if isinstance(key, (str, int)):
                seen.add(key)
        return super().construct_mapping(node, deep)


_UniqueKeyLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:bool"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# YAML 1.2: only true and false are booleans, so that the labels [yes, no] stay words
_UniqueKeyLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def load_spec(path: Path) -> RunSpec:
    """Read a spec file.

    Raises:
        InvalidSpec: the file is missing, is not YAML, or does not describe a run.
    """
    text = _read(path)
    try:
        values = yaml.load(text, Loader=_UniqueKeyLoader)
    except (yaml.YAMLError, RecursionError) as problem:
        raise InvalidSpec(f"{path} is not YAML: {_one_line(problem)}") from problem
    if not isinstance(values, dict):
        raise InvalidSpec(f"{path} holds no mapping: a spec begins with `name:`")
    _refuse_endless(values, path)
    return parse_spec(values, str(path))


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
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


def parse_spec(values: Mapping[str, Any], where: str = "spec") -> RunSpec:
    """Check a mapping.

    Raises:
        InvalidSpec: all mistakes at once, each with the path of its key.
    """
    return parse_part(RunSpec, values, where)


PartT = TypeVar("PartT", bound=Spec)


def parse_part(kind: type[PartT], values: Mapping[str, Any], where: str) -> PartT:
    """Check a part of a spec on its own, for example a data set given by flags.

    Raises:
        InvalidSpec: as `parse_spec`.
    """
    try:
        made = kind.model_validate(dict(values))
    except ValidationError as problem:
        mistakes = [_mistake(error) for error in _first_causes(problem)]
        raise InvalidSpec(f"{where}: " + "; ".join(dict.fromkeys(mistakes))) from problem
    check_numbers(made, where)
    return made


def check_numbers(spec: Spec, where: str = "spec") -> None:
    """Refuse numbers that no file, library or machine can hold.

    Raises:
        InvalidSpec: NaN, an infinity, or a whole number over 2^63 - 1; all of them are named.
    """
    wrong = [
        f"{_place(loc)} is {_said(value)}: write a number up to {_LARGEST}"
        for loc, value in _numbers(spec.model_dump(), ())
        if not abs(value) <= _LARGEST  # NaN is neither
    ]
    if wrong:
        raise InvalidSpec(f"{where}: " + "; ".join(wrong))


def _said(value: int | float) -> str:
    return str(value) if isinstance(value, float) or abs(value) < 10**40 else "too large"


def _numbers(
    value: Any, loc: tuple[int | str, ...]
) -> Iterator[tuple[tuple[int | str, ...], int | float]]:
    if isinstance(value, (int, float)):
        yield loc, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _numbers(part, (*loc, str(key)))
    elif isinstance(value, (list, tuple)):
        for place, part in enumerate(value):
            yield from _numbers(part, (*loc, place))


def _first_causes(problem: ValidationError) -> list[Any]:
    """The errors, less those that say only that a list lacks its wrong items."""
    errors = problem.errors(include_url=False)
    places = [error["loc"] for error in errors]

    def follows(error: Any) -> bool:
        loc = error["loc"]
        inner = (p for p in places if len(p) > len(loc) and p[: len(loc)] == loc)
        return error["type"] == "too_short" and next(inner, None) is not None

    return [error for error in errors if not follows(error)]


def _mistake(error: Any) -> str:
    place = _place(error["loc"])
    if error["type"] == "extra_forbidden":
        return f"{place}: unknown key{_near(error['loc'])}"
    if error["type"] == "missing":
        return f"{place}: missing"
    text = str(error["msg"]).removeprefix("Value error, ")
    text = text[0].lower() + text[1:]
    value = error.get("input")
    shown = repr(value) if isinstance(value, (str, int, float, bool)) else ""
    if isinstance(value, date):
        shown = f"the date {value}"
    if place in ("api_key",) or "api_key" in place:
        shown = ""
    short = _shortened(shown)
    said = short and short not in text
    return f"{place} is {short}: {text}" if said else f"{place}: {text}"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _place(loc: tuple[int | str, ...]) -> str:
    place = ""
    for part in loc:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
    return place or "spec"


def _near(loc: tuple[int | str, ...]) -> str:
    names = [part for part in loc if isinstance(part, str)]
    owner = _PARTS.get(names[-2]) if len(names) > 1 else RunSpec
    if owner is None:
        return ""
    known = list(owner.model_fields)
    near = near_matches(names[-1], known)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; known keys: {', '.join(known)}"


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).replace('in "<unicode string>", ', "in ").split())
