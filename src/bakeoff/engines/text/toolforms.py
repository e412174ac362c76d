"""In which form a chat template has a model call tools, read off the template's text."""

from __future__ import annotations

import jinja2
from jinja2 import meta
from jinja2.ext import Extension, loopcontrols

_MARKS = (
    ("hermes", ("<tool_call>",)),
    ("mistral", ("[TOOL_CALLS]",)),
    ("llama3", ("<|python_tag|>", '"parameters":')),
)
"""Form -> what a template that uses it writes; the first that is there counts."""
UNKNOWN = "unknown"
"""The template has a place for tools, and its calls are written in none of these forms."""


def tool_form(source: str) -> str:
    """`hermes`, `mistral`, `llama3`, `unknown`, or empty where there is no place for tools.

    Args:
        source: text of the template.
    """
    if "tools" not in source or not _reads_tools(source):
        return ""
    return next((name for name, marks in _MARKS if any(m in source for m in marks)), UNKNOWN)


class _Generation(Extension):
    """`{% generation %}` and its end stand for nothing here."""

    tags = {"generation", "endgeneration"}  # noqa: RUF012 - the name and type are Jinja's

    def parse(self, parser: jinja2.parser.Parser) -> list[jinja2.nodes.Node]:
        next(parser.stream)
        return []


def _reads_tools(source: str) -> bool:
    try:
        tree = jinja2.Environment(extensions=[_Generation, loopcontrols]).parse(source)
    except jinja2.TemplateError:  # it renders nothing either, and says so
        return False
    return "tools" in meta.find_undeclared_variables(tree)
