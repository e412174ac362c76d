"""An immutable Jinja environment for templates that users write.

Jinja's own sandbox keeps templates away from Python's insides; this one also bounds what they
cost. Tags, filters, tests and methods are lists of what is allowed, not of what is forbidden.
How: design/0002-template-sandbox.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import StrictUndefined, Template, Undefined, pass_context
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bakeoff.core.errors import TemplateFailed
from bakeoff.tasks.budget import current
from bakeoff.tasks.filters import FILTERS, TESTS
from bakeoff.tasks.methods import LOOP_VALUES, Method, join, methods_of
from bakeoff.tasks.rewrite import rewrite
from bakeoff.tasks.values import (
    arithmetic,
    as_text,
    loops_over,
    make_range,
    settle,
    weigh,
)

MAX_TEMPLATE = 100_000
MAX_TOKENS = 20_000


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """Jinja with bounded time and size; see the module's docstring.

    Nothing of a template runs while it is compiled: the optimizer is off, and every operator,
    filter and test either is intercepted or asks for the context, which Jinja does not fold.
    """

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "**", "%"])

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,
            finalize=_finalize,
            optimized=False,
            cache_size=0,
        )
        self.filters = {**FILTERS, **_INTERNAL}
        self.tests = dict(TESTS)
        self.globals = {"range": make_range}

    def compile_checked(self, source: str) -> tuple[Template, frozenset[str]]:
        """A template and the names of the variables it reads.

        Raises:
            jinja2.TemplateSyntaxError: the text is no template.
            TemplateFailed: it is too long, or uses what is switched off.
        """
        if len(source) > MAX_TEMPLATE:
            raise TemplateFailed(f"it has {len(source)} characters, at most {MAX_TEMPLATE}")
        if any(number >= MAX_TOKENS for number, _ in enumerate(self.lex(source))):
            raise TemplateFailed(f"it has more than {MAX_TOKENS} words and signs")
        tree = rewrite(self.parse(source), self)
        variables = find_undeclared_variables(tree)
        code = self.compile(tree)
        return self.template_class.from_code(self, code, self.make_globals(None)), frozenset(
            variables - self.globals.keys()
        )

    def call(self, context: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a listed method, or `range`."""
        current().step()
        for internal in ("_loop_vars", "_block_vars"):
            kwargs.pop(internal, None)
        if isinstance(target, Method):
            return settle(target.run(*args, **kwargs))
        if target is make_range:
            return make_range(*args, **kwargs)
        if isinstance(target, Undefined):
            str(target)  # raises, naming the variable
        raise TemplateFailed(f"a {type(target).__name__} cannot be called")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic, refused before it grows."""
        arithmetic(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A listed method, a counter of the loop, or a key; never an attribute of Python's."""
        if attribute in methods_of(obj):
            return Method(obj, attribute)
        if isinstance(obj, LoopContext) and attribute in LOOP_VALUES:
            return getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An element of plain data."""
        if isinstance(obj, Undefined):
            str(obj)  # raises, naming the variable
        if isinstance(obj, (str, list, tuple, dict, range)):
            weigh(argument)
            try:
                return obj[argument]
            except (TypeError, LookupError):
                pass
        return self.undefined(obj=obj, name=argument)


@pass_context
def _finalize(context: Context, value: Any) -> str:
    text = as_text(value)
    current().step()
    settle(text)
    return text


@pass_context
def _looped(context: Context, values: Any) -> Any:
    return loops_over(values)


@pass_context
def _compared(context: Context, value: Any) -> Any:
    current().step()
    return value


@pass_context
def _made(context: Context, value: Any) -> Any:
    return settle(value)


@pass_context
def _glued(context: Context, parts: list[Any]) -> str:
    return str(settle(join("", parts)))


@pass_context
def _sliced(context: Context, value: Any, start: Any, stop: Any, step: Any) -> Any:
    if isinstance(value, Undefined):
        str(value)  # raises, naming the variable
    if not isinstance(value, (str, list, tuple, range)):
        raise TemplateFailed(f"a {type(value).__name__} has no [from:to]")
    current().step()
    return settle(value[start:stop:step])


_INTERNAL: Mapping[str, Any] = {
    "_compared": _compared,
    "_glued": _glued,
    "_looped": _looped,
    "_made": _made,
    "_sliced": _sliced,
}
