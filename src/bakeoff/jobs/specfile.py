"""A spec from a YAML or JSON file or a mapping, with errors that name file, line and key."""

from __future__ import annotations

import re
from collections.abc import Mapping
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

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
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
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as problem:
        raise InvalidSpec(f"{path}: no such file; bakeoff init writes one") from problem
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidSpec(f"{path} cannot be read: {problem}") from problem
    try:
        values = yaml.load(text, Loader=_UniqueKeyLoader)
    except (yaml.YAMLError, RecursionError) as problem:
        raise InvalidSpec(f"{path} is not YAML: {_one_line(problem)}") from problem
    if not isinstance(values, dict):
        raise InvalidSpec(f"{path} holds no mapping: a spec begins with `name:`")
    return parse_spec(values, str(path))


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
        return kind.model_validate(dict(values))
    except ValidationError as problem:
        mistakes = [_mistake(error) for error in problem.errors(include_url=False)]
        raise InvalidSpec(f"{where}: " + "; ".join(dict.fromkeys(mistakes))) from problem


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
    if place in ("api_key",) or "api_key" in place:
        shown = ""
    short = shown if len(shown) <= 60 else shown[:57] + "...'"
    said = short and short not in text
    return f"{place} is {short}: {text}" if said else f"{place}: {text}"


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
    return " ".join(str(problem).split())
