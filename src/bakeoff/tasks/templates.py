"""`RowTemplate`: a user's Jinja template over the columns of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jinja2 import TemplateError

from bakeoff.core.errors import InvalidSpec, TemplateFailed
from bakeoff.core.registry import near_matches
from bakeoff.core.rows import TaskRow
from bakeoff.tasks.budget import CURRENT, Budget
from bakeoff.tasks.sandbox import TemplateSandbox

ROLES = ("source", "question", "context", "choices", "row")
_MAX_REASON = 300


class RowTemplate:
    """A template, compiled once.

    Variables are the columns by name, the roles `source`, `question`, `context` and `choices`
    (where a role is mapped, it wins over a column of that name), what the task adds (languages,
    labels), and `row`, all cells by name, for columns whose name is no identifier:
    `{{ row["my column"] }}`. Cells are data: `{{ }}` inside a cell is text.
    """

    def __init__(self, source: str, where: str) -> None:
        """Compile.

        Args:
            source: the template; one line break at its very end is dropped.
            where: what it is called in messages, for example `task.template`.

        Raises:
            InvalidSpec: it is no template, or uses what is switched off; the line is named.
        """
        self.source = source
        self.where = where
        try:
            self._template, self.variables = TemplateSandbox().compile_checked(source)
        except TemplateError as problem:
            line = getattr(problem, "lineno", None)
            place = f", line {line}" if line else ""
            raise InvalidSpec(f"{where}{place}: {_reason(problem)}") from problem
        except TemplateFailed as problem:
            raise InvalidSpec(f"{where}: {problem}") from problem
        except RecursionError as problem:
            raise InvalidSpec(f"{where}: it is nested too deeply") from problem
        except Exception as problem:  # the text is hostile: Python's own compiler may refuse it
            raise InvalidSpec(
                f"{where}: it cannot be compiled: {type(problem).__name__}: {_reason(problem)}"
            ) from problem

    def check_columns(self, columns: Iterable[str], more: Iterable[str] = ()) -> None:
        """Whether every variable is a column, a role or one of `more`.

        Raises:
            InvalidSpec: one is not; near matches are named.
        """
        columns = tuple(columns)
        known = tuple(dict.fromkeys((*columns, *ROLES, *more)))
        for name in sorted(self.variables.difference(known)):
            near = near_matches(name, known)
            hint = f": did you mean {near[0]!r}?" if near else "."
            raise InvalidSpec(
                f"{self.where} uses {name!r}, which is no column{hint} "
                f"Columns: {', '.join(columns) or 'none'}"
            )

    def render(self, row: TaskRow, more: Mapping[str, Any] | None = None) -> str:
        """The text for a row.

        Raises:
            TemplateFailed: the template refused the row, took too long or made too much text.
        """
        token = CURRENT.set(Budget())
        try:
            return self._template.render({**(more or {}), **_values(row)})
        except TemplateFailed as problem:
            raise TemplateFailed(f"{self.where}: {_reason(problem)}") from problem
        except RecursionError as problem:
            raise TemplateFailed(f"{self.where}: the data is nested too deeply") from problem
        except TemplateError as problem:
            raise TemplateFailed(f"{self.where}: {_reason(problem)}") from problem
        except Exception as problem:  # a template is a program: it may raise anything
            raise TemplateFailed(
                f"{self.where}: {type(problem).__name__}: {_reason(problem)}"
            ) from problem
        finally:
            CURRENT.reset(token)


def _values(row: TaskRow) -> dict[str, Any]:
    values: dict[str, Any] = dict(row.cells)
    roles = {"source": row.source, "question": row.question, "context": row.context}
    values |= {k: v for k, v in roles.items() if v is not None or k not in values}
    if row.choices or "choices" not in values:
        values["choices"] = list(row.choices)
    values["row"] = dict(row.cells)
    return values


def _reason(problem: Exception) -> str:
    text = str(problem)
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]} ..."
