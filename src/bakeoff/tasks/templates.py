"""`RowTemplate`: a user's Jinja template over the columns of a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jinja2 import TemplateError, meta

from bakeoff.core.errors import InvalidSpec, TemplateFailed
from bakeoff.core.registry import near_matches
from bakeoff.core.rows import TaskRow
from bakeoff.tasks.budget import CURRENT, Budget
from bakeoff.tasks.sandbox import TemplateSandbox

ROLES = ("source", "question", "context", "choices", "row", "source_language", "target_language")


class RowTemplate:
    """A template, compiled once.

    Variables are the columns by name, the roles `source`, `question`, `context`, `choices`
    (a column of the same name is the role where it is mapped to it), the languages, and `row`,
    all cells by name, for columns whose name is no identifier: `{{ row["my column"] }}`.
    """

    def __init__(self, source: str, where: str) -> None:
        """Compile.

        Args:
            source: the template.
            where: what it is called in messages, for example `task.template`.

        Raises:
            InvalidSpec: it is no template; the line is named.
        """
        self.source = source
        self.where = where
        sandbox = TemplateSandbox()
        try:
            self._template = sandbox.compile_checked(source)
            self.variables = frozenset(meta.find_undeclared_variables(sandbox.parse(source)))
        except TemplateError as problem:
            line = getattr(problem, "lineno", None)
            place = f", line {line}" if line else ""
            raise InvalidSpec(f"{where}{place}: {problem}") from problem
        except (TemplateFailed, RecursionError) as problem:
            raise InvalidSpec(f"{where}: {problem}") from problem

    def check_columns(self, columns: Iterable[str]) -> None:
        """Whether every variable is a column or a role.

        Raises:
            InvalidSpec: one is not; near matches are named.
        """
        known = [*columns, *ROLES]
        for name in sorted(self.variables - set(known) - {"range", "dict", "namespace"}):
            near = near_matches(name, known)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidSpec(
                f"{self.where} uses {name!r}, which is no column{hint} "
                f"Columns: {', '.join(map(repr, columns))}"
            )

    def render(self, row: TaskRow, more: Mapping[str, Any] | None = None) -> str:
        """The text for a row.

        Raises:
            TemplateFailed: the template refused the row, took too long or made too much text.
        """
        values: dict[str, Any] = dict(row.cells)
        roles = {"source": row.source, "question": row.question, "context": row.context}
        values |= {k: v for k, v in roles.items() if v is not None or k not in values}
        if row.choices:
            values["choices"] = list(row.choices)
        values |= {"row": dict(row.cells), **(more or {})}
        token = CURRENT.set(Budget())
        try:
            return str(self._template.render(values))
        except TemplateFailed:
            raise
        except RecursionError as problem:
            raise TemplateFailed(f"{self.where}: the template calls itself too deeply") from problem
        except Exception as problem:  # a template is a program: it may raise anything
            raise TemplateFailed(f"{self.where}: {type(problem).__name__}: {problem}") from problem
        finally:
            CURRENT.reset(token)
