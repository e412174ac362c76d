"""What is wrong with a spec, in the words of people who write YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from pydantic import ValidationError

from bakeoff.core.registry import near_matches
from bakeoff.core.specs import (
    ColumnsSpec,
    DatasetSpec,
    DecideSpec,
    ExampleSpec,
    GenerationSpec,
    MetricSpec,
    ModelEntry,
    PromptSpec,
    Spec,
    TaskSpec,
)
from bakeoff.jobs.specyaml import Loc, shortened

_PARTS: dict[str, type[Spec]] = {
    "dataset": DatasetSpec,
    "columns": ColumnsSpec,
    "task": TaskSpec,
    "generation": GenerationSpec,
    "decide": DecideSpec,
    "models": ModelEntry,
    "metrics": MetricSpec,
    "prompt": PromptSpec,
    "examples": ExampleSpec,
}
_MEMBER = re.compile(r"(str|int|float|bool|none|(literal|tuple|list|dict)\[.*)")
"""What pydantic adds to a path for each type that a field may have."""


def written_place(loc: Loc) -> str:
    """A path as the spec would be indexed: `models[0].max_new_tokens`."""
    place = ""
    for part in loc:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
    return place or "spec"


@dataclass(frozen=True, slots=True)
class Origin:
    """What values were read from, for messages.

    Attributes:
        name: file, or what stands in its place; empty where the place says it all.
        place: a path in words.
        line: line of a path, or None where there are no lines.
    """

    name: str = "spec"
    place: Callable[[Loc], str] = written_place
    line: Callable[[Loc], int | None] = lambda loc: None

    def said(self, faults: Iterable[Fault]) -> str:
        """All faults in one line, each once."""
        lines = [(self.line(fault.loc), self.place(fault.loc) + fault.text) for fault in faults]
        said = "; ".join(dict.fromkeys(f"line {n}: {t}" if n else t for n, t in lines))
        if not self.name:
            return said
        return f"{self.name}, {said}" if said.startswith("line ") else f"{self.name}: {said}"


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake; `text` goes on behind the words for its place."""

    loc: Loc
    text: str


def faults_of(problem: ValidationError, root: type[Spec]) -> Iterator[Fault]:
    """Every mistake that pydantic found in a `root`: causes, and not what follows from them."""
    found: dict[Loc, list[Any]] = {}
    for error in problem.errors(include_url=False):
        found.setdefault(_loc(error), []).append(error)
    for loc, errors in found.items():
        if not any(len(other) > len(loc) and other[: len(loc)] == loc for other in found):
            yield Fault(loc, _text(loc, errors, root))


def _loc(error: Any) -> Loc:
    *above, last = error["loc"] or ("",)
    kept = [part for part in above if isinstance(part, int) or not _MEMBER.fullmatch(part)]
    own = error["type"] == "extra_forbidden" or isinstance(last, int) or not _MEMBER.fullmatch(last)
    return tuple(part for part in (*kept, *([last] if own else [])) if part != "")


def _text(loc: Loc, errors: list[Any], root: type[Spec]) -> str:
    first = errors[0]
    if first["type"] in ("extra_forbidden", "invalid_key"):
        return ": unknown key" + _near(loc, root)
    if first["type"] == "missing":
        return ": missing"
    if first["type"] == "value_error":
        said = str(first["msg"]).removeprefix("Value error, ")
        return ": " + said[:1].lower() + said[1:]
    secret = "api_key" in loc
    wish = " or ".join(dict.fromkeys(_wish(loc, error, secret) for error in errors))
    return f" is {_shown(first, secret)}: write {wish}"


def _shown(error: Any, secret: bool) -> str:
    value = error.get("input")
    if error["type"] == "too_short" or value is None:
        return "empty"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, dict):
        return "a mapping"
    if secret:
        return "not readable"
    return f"the date {value}" if isinstance(value, date) else shortened(repr(value))


_NUMBERS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


def _wish(loc: Loc, error: Any, secret: bool) -> str:
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind in _NUMBERS:
        words, key = _NUMBERS[kind]
        return f"a number of {words} {context[key]:g}"
    if kind == "model_type":
        return _keys(loc) + _or_drop(error)
    if kind == "string_type":
        value = error.get("input")
        plain = isinstance(value, (bool, int, float, date)) and not secret
        return f'a text, between quotes: "{value}"' if plain else "a text"
    if kind == "literal_error":
        return str(context["expected"])
    if kind == "too_short":
        return "at least one"
    for sign, words in _TYPES.items():
        if kind.startswith(sign):
            return words + _unquoted(error) + _or_drop(error)
    return re.sub(r"^Input should be ", "", str(error["msg"]))


_BARE = re.compile(r"[-+]?[\d.]+|true|false", re.IGNORECASE)
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "tuple": "a list, for example [a, b]",
    "list": "a list, for example [a, b]",
    "dict": "`key: value` pairs",
}


def _unquoted(error: Any) -> str:
    quoted = isinstance(error.get("input"), str) and _BARE.fullmatch(error["input"].strip())
    return ", without quotes" if quoted else ""


def _or_drop(error: Any) -> str:
    return ", or leave it out" if error.get("input") is None else ""


_SHORT_FORMS = {"models": "a model reference, or ", "metrics": "a name, or "}


def _keys(loc: Loc) -> str:
    names = [part for part in loc if isinstance(part, str)]
    known = list(_PARTS[names[-1]].model_fields) if names and names[-1] in _PARTS else []
    if "model" in known:
        known = ["id", "model", "prompt", "max_new_tokens"]
    more = ", ..." if len(known) > 6 or "model" in known else ""
    short = _SHORT_FORMS.get(names[-1], "") if names else ""
    return f"{short}`key: value` pairs with the keys {', '.join(known[:6])}{more}"


def _near(loc: Loc, root: type[Spec]) -> str:
    names = [part for part in loc if isinstance(part, str)]
    owner = _PARTS.get(names[-2]) if len(names) > 1 else root
    if owner is None or not names:
        return ""
    known = list(owner.model_fields)
    near = near_matches(names[-1], known)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; known keys: {', '.join(known)}"
