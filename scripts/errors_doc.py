"""Writes docs/errors.md from src/bakeoff/core/codes.py and errors.py; --check compares instead."""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
import textwrap
from enum import Enum
from pathlib import Path

from bakeoff.core import errors
from bakeoff.core.codes import CODES, ExitCode, FinishReason

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"

TEMPLATE = """\
# Errors

This page is generated from `src/bakeoff/core/codes.py` and `errors.py`; `make docs` writes it.

A mistake in a command, a spec or a data file stops before anything is started, and the message
says what is wrong, which value, and what to do. What goes wrong with a single row is stored as
that row's failure, with one of the codes below, and the run goes on.

## Exit status

| status | name | meaning |
|---|---|---|
{exits}

Where several apply, the command ends with the status of the error that ended it; a run that ended
by itself ends with 3 if some of its rows are failures, else with 0.

## Error codes

The code stands in a failed row (`error.code` in the journal, `predictions.parquet` and the page),
in the events of `--json`, and in the attribute `code` of the Python exception.

| code | exit | HTTP | meaning |
|---|---|---|---|
{codes}

## Exceptions

All are in `bakeoff.core.errors` and derive from `BakeoffError` (also `bakeoff.BakeoffError`).

| exception | derives from | code | may succeed later | meaning |
|---|---|---|---|---|
{classes}

## Finish reasons

Why a generation ended, in the column `finish`.

| reason | meaning |
|---|---|
{finishes}
"""


def error_classes() -> list[type[errors.BakeoffError]]:
    """Every exception class, a parent before its children."""
    found = [errors.BakeoffError]
    for parent in found:
        found += [child for child in parent.__subclasses__() if child.__module__ == errors.__name__]
    return found


def page() -> str:
    """The whole page."""
    exits = _docs_below(ExitCode)
    finishes = _docs_below(FinishReason)
    return TEMPLATE.format(
        exits="\n".join(
            f"| {code.value} | {code.name} | {exits[code.name]} |" for code in ExitCode
        ),
        codes="\n".join(
            f"| `{name}` | {int(info.exit)} | {info.http} | {info.meaning} |"
            for name, info in CODES.items()
        ),
        classes="\n".join(_class_row(known) for known in error_classes()),
        finishes="\n".join(f"| `{x.value}` | {finishes[x.name]} |" for x in FinishReason),
    )


def _class_row(known: type[errors.BakeoffError]) -> str:
    parent = known.__bases__[0].__name__
    meaning = (inspect.getdoc(known) or "").partition("\n")[0]
    retryable = "yes" if known.retryable else "no"
    return f"| `{known.__name__}` | `{parent}` | `{known.code}` | {retryable} | {meaning} |"


def _docs_below(kind: type[Enum]) -> dict[str, str]:
    """Member -> the text that stands below it in the source."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    docs = {}
    for member, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(member, ast.Assign) and isinstance(below, ast.Expr):
            assert isinstance(member.targets[0], ast.Name) and isinstance(below.value, ast.Constant)
            docs[member.targets[0].id] = " ".join(str(below.value.value).split())
    return docs


def main() -> int:
    """Write the page, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the page is out of date")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
        return 0
    print("docs/errors.md is out of date: make docs", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
