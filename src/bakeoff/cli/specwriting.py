"""The text of a new spec: YAML with comments, whatever the names in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from bakeoff.cli.questions import listed

_PLAIN = re.compile(r"[^\W\d_][\w-]*")
_WIDTH = 10**9
_BASELINES = {"summarization": "baseline://lead-3"}
_LACKING = {
    "reference": "no reference column: scores need one",
    "id": "no id column: rows are numbered",
}


@dataclass(frozen=True, slots=True)
class NewSpec:
    """What is written.

    Attributes:
        path: of the data, seen from the spec's folder.
        all_columns: of the data, for a comment.
        columns: role to column, or to several.
        kind: of the task.
    """

    name: str
    path: str
    all_columns: tuple[str, ...]
    columns: Mapping[str, object]
    kind: str
    models: tuple[str, ...]


def lacking_roles(columns: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Roles that have no column and are missed, each with what follows from that."""
    return ((role, said) for role, said in _LACKING.items() if role not in columns)


def written(new: NewSpec) -> str:
    """The text of the spec."""
    baseline = _BASELINES.get(new.kind)
    lines = [
        "# Which model is best on these rows? Carry out with: bakeoff run FILE",
        f"name: {_scalar(new.name)}",
        f"dataset: {_scalar(new.path)}",
        f"# columns of the file: {listed(new.all_columns)}",
        f"columns: {_inline(new.columns)}",
        *(f"# {said}" for _, said in lacking_roles(new.columns)),
        f"task: {_task(new)}",
        "generation: {max_new_tokens: 128}  # greedy; any field may also stand in a model's entry",
        "# metrics: [rouge, chrf]  # the task's own where this line is absent",
        "# repeats: 1  # more than 1 shows how much a sampled answer varies",
        "models:",
        *(f"  - {_scalar(model)}" for model in new.models),
    ]
    if baseline is not None and baseline not in new.models:
        lines.append(f"  - {baseline}  # what no model at all would score")
    return "\n".join(lines) + "\n"


def _task(new: NewSpec) -> str:
    if new.kind != "custom":
        return _scalar(new.kind)
    template = f"{{{{ row[{json.dumps(new.all_columns[0], ensure_ascii=False)}] }}}}"
    return f"{{kind: custom, template: {_quoted(template)}}}"


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
