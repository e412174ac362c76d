"""YAML as specs use it: its types, the line of a key, and mistakes in plain words."""

from __future__ import annotations

import re
from typing import Any

import yaml

Loc = tuple[int | str, ...]
"""Path of a value: keys, and places in lists from 0."""

_MERGE = "tag:yaml.org,2002:merge"


class UniqueKeyLoader(yaml.SafeLoader):
    """YAML's safe loader, except that a key given twice is an error and not the last one wins."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """See PyYAML; a value that does not fit its type names its line."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as problem:
            # what YAML's own types raise where a value does not fit, without saying where
            kind = str(node.tag).rpartition(":")[2]
            said = shortened(repr(node.value)) if isinstance(node.value, str) else "this"
            raise yaml.constructor.ConstructorError(
                None, None, f"{said} is no {kind}: put it between quotes", node.start_mark
            ) from problem

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """See PyYAML; a key that stands twice is an error."""
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


UniqueKeyLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in pairs if tag != "tag:yaml.org,2002:bool"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# YAML 1.2: only true and false are booleans, so that the labels [yes, no] stay words
UniqueKeyLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def shortened(text: str) -> str:
    """At most 60 characters."""
    return text if len(text) <= 60 else text[:57] + "..."


def line_of(text: str, loc: Loc) -> int | None:
    """Line, from 1, of a key or list item in YAML that can be read; None where it is not written.

    Of a path that leads beyond what is written (a default, a short form), the nearest part counts.
    """
    node = yaml.compose(text, Loader=UniqueKeyLoader)
    found: int | None = None
    for part in loc:
        inner = _inner(node, part)
        if inner is None:
            break
        mark, node = inner
        found = mark.line + 1
    return found


def _inner(node: Any, part: int | str) -> tuple[Any, Any] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark, node.value[part]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark, value
    return None


def broken(problem: yaml.YAMLError | RecursionError, text: str) -> tuple[int | None, str]:
    """Line of what is no YAML, and what is wrong there, with a hint."""
    if isinstance(problem, yaml.reader.ReaderError):
        line = text.count("\n", 0, problem.position) + 1 if isinstance(problem.position, int) else 1
        return line, "a character stands here that YAML does not allow"
    if not isinstance(problem, yaml.MarkedYAMLError):
        return None, "it is nested too deeply"
    mark = problem.problem_mark or problem.context_mark
    said = problem.problem or str(problem)
    return None if mark is None else mark.line + 1, _in_words(problem, said, _Place(text, mark))


class _Place:
    """Where reading stopped."""

    def __init__(self, text: str, mark: Any) -> None:
        lines = text.splitlines()
        at = mark.line if mark is not None else 0
        self.line = lines[at] if at < len(lines) else ""
        self.column = mark.column if mark is not None else 0

    @property
    def before(self) -> str:
        return self.line[: self.column]

    @property
    def here(self) -> str:
        return self.line[self.column : self.column + 1]


_QUOTE = "put the value between quotes"
_ALIGN = "its indentation does not fit the lines above: begin keys of one level in the same column"
_JINJA = "{{ }} begins a value: put the whole value between quotes"
_AS_THEY_ARE = ("stands here twice", "put it between quotes", "a mapping is due here")


def _in_words(problem: yaml.MarkedYAMLError, said: str, at: _Place) -> str:
    if any(words in said for words in _AS_THEY_ARE):
        return said
    if "{{" in at.line and ("unhashable" in said or "block end" in said):
        return _JINJA
    opened = "" if problem.context_mark is None else f" in line {problem.context_mark.line + 1}"
    for sign, words in _SIGNS:
        if sign in f"{problem.context} {said}":
            return words.format(here=at.here, said=said, opened=opened)
    if said.startswith("mapping values are not allowed"):
        first = ":" not in at.before.rstrip(":")
        return _ALIGN if first else f"a colon and a blank stand inside a value: {_QUOTE}"
    if said.startswith("found character"):
        if at.here == "\t":
            return "a tab stands here: indent with blanks"
        return f"a value cannot begin with {at.here!r}: {_QUOTE}"
    if "block end" in said:
        return f"the value goes on behind its quote: {_QUOTE}" if "scalar" in said else _ALIGN
    return said


_SIGNS = (
    ("expected ',' or", "a bracket that opens{opened} is not closed, or a comma is missing"),
    ("unexpected end of stream", "a quote that opens{opened} is not closed"),
    ("undefined alias", "{said}: a value that begins with * goes between quotes"),
    ("while scanning an anchor", "a value that begins with & goes between quotes"),
    ("could not determine a constructor", "{said}: a value that begins with ! goes between quotes"),
    ("unknown escape", "{said}: write \\\\ for one \\, or use single quotes"),
    ("could not find expected ':'", "the line above has no colon: write `key: value`"),
    ("another document", "--- begins a second document here: a spec is one"),
    ("comment or a line break", "text behind > or | begins on the next line; else " + _QUOTE),
    ("chomping or indentation", "text behind > or | begins on the next line; else " + _QUOTE),
    ("unhashable key", "a key is a word: put it between quotes"),
)
