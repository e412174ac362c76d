"""Advice in flags rather than in keys of a spec, for commands that have no spec."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bakeoff.core.errors import CallerError
from bakeoff.jobs.specfaults import Origin
from bakeoff.jobs.specyaml import Loc

Wording = Callable[[str], str]
"""From what a library part says of a spec to what a person at the command line can type."""

_OWN = ("max_new_tokens", "temperature")
"""Fields of a model entry that have a flag of their own."""
_NAMED = {"task": "--task", "metrics": "--metrics", "name": "--name", "models": "--model"}
_LAST = {"template": "--template", "system": "--system", "model": "--model", "path": "the data"}


def flag_place(loc: Loc) -> str:
    """The flag that a value of a spec came from."""
    names = [part for part in loc if isinstance(part, str)]
    first, last = (names[0], names[-1]) if names else ("", "")
    if first == "columns":
        return f"-c {last}"
    if last in _LAST:
        return _LAST[last]
    if first == "models" and len(names) > 1 and last not in _OWN:
        return f"--option {'.'.join(names[1:])}"
    if first in _NAMED and len(names) < 2 + (last == "kind" or last == "name"):
        return _NAMED[first]
    return f"--{last.replace('_', '-')}" if last else "flags"


FLAGS = Origin("", place=flag_place)
"""Where specs come from that were put together from flags."""

_COLUMNS = (
    (re.compile(r"write `columns: \{(\w+): [^`]*\}`"), r"pass -c \1=COLUMN"),
    (re.compile(r"write `columns:` to choose others"), "-c ROLE=COLUMN chooses others"),
    (re.compile(r"\bcolumns\.(\w+):"), r"-c \1:"),
)
_OTHERS = (
    (re.compile(r"\b(?:task|prompt)\.(template|system)\b"), r"--\1"),
    (re.compile(r"^models\[0\] \([^)]*\): "), ""),
    (re.compile(r"another `name:`"), "another --name"),
)


def as_flags(text: str) -> str:
    """For commands with `-c ROLE=COLUMN`."""
    for pattern, words in (*_COLUMNS, *_OTHERS):
        text = pattern.sub(words, text)
    return text


def as_evaluate_flags(text: str) -> str:
    """For `bakeoff evaluate`, whose roles are flags."""
    text = re.sub(r"-c (\w+)(?:=COLUMN|(?=:))", r"--\1 COLUMN", as_flags(text))
    return text.replace("-c ROLE=COLUMN chooses others", "--reference and --source name others")


@contextmanager
def worded(wording: Wording) -> Iterator[None]:
    """Let mistakes of the caller speak of flags."""
    try:
        yield
    except CallerError as problem:
        problem.message = wording(problem.message)
        problem.args = (problem.message,)
        raise
