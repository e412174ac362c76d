"""An immutable Jinja environment for templates that users write.

Jinja's own sandbox keeps templates away from Python's insides; this one also bounds what they
cost. Filters, tests and methods are lists of what is allowed, not of what is forbidden. How:
design/0002-template-sandbox.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import StrictUndefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bakeoff.core.errors import TemplateFailed
from bakeoff.tasks.budget import counted, current

MAX_TEMPLATE = 100_000
MAX_NUMBER_BITS = 256
MAX_RANGE = 10_000

_FILTERS = frozenset(
    "abs capitalize count d default e escape first float int items last length list lower map max "
    "min reject rejectattr reverse round select selectattr sort string title tojson trim unique "
    "upper wordcount".split()
)
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        "capitalize casefold count endswith find index isalnum isalpha isdigit islower isspace "
        "istitle isupper lower lstrip partition removeprefix removesuffix rfind rpartition rsplit "
        "rstrip split splitlines startswith strip swapcase title upper".split()
    ),
    dict: frozenset("get items keys values".split()),
    list: frozenset("count index".split()),
    tuple: frozenset("count index".split()),
}
_LOOP = frozenset(
    "index index0 revindex revindex0 first last length depth depth0 previtem nextitem cycle "
    "changed".split()
)
_FORBIDDEN_NODES: tuple[type[nodes.Node], ...] = (
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.Extends,
    nodes.Block,
)


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """Jinja with bounded time and size; see the module's docstring."""

    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,
            finalize=_finalize,
            keep_trailing_newline=True,
            cache_size=0,
        )
        self.filters = {k: v for k, v in self.filters.items() if k in _FILTERS}
        self.filters["_counted"] = counted
        self.filters["_glued"] = _glued
        self.filters["join"] = _join
        self.filters["replace"] = _replace
        self.filters["list"] = lambda values: list(counted(values))
        self.globals = {"range": _range, "dict": dict}

    def compile_checked(self, source: str) -> Any:
        """A template whose loops, joins and calls are counted.

        Raises:
            jinja2.TemplateSyntaxError: the text is no template.
            TemplateFailed: it is too long, or uses a forbidden tag.
        """
        if len(source) > MAX_TEMPLATE:
            raise TemplateFailed(f"it has {len(source)} characters, at most {MAX_TEMPLATE}")
        tree = self.parse(source)
        for node in tree.find_all(_FORBIDDEN_NODES):
            raise TemplateFailed(f"line {node.lineno}: {type(node).__name__} is switched off")
        _count_loops(tree)
        return self.template_class.from_code(self, self.compile(tree), self.make_globals(None))

    def call(self, context: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        """Every call costs a step."""
        current().step()
        return super().call(context, target, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Arithmetic, refused before it grows."""
        _check_arithmetic(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Only listed methods of plain values, and the loop's own counters."""
        if type(obj).__name__ == "LoopContext":
            return attr in _LOOP
        if type(obj).__name__ == "Namespace":
            return not attr.startswith("_")
        allowed = _METHODS.get(type(obj))
        return allowed is not None and attr in allowed

    def is_safe_callable(self, obj: Any) -> bool:
        """Methods that passed `is_safe_attribute`, macros and the two globals."""
        owner = getattr(obj, "__self__", None)
        if type(owner) in _METHODS:
            return getattr(obj, "__name__", "") in _METHODS[type(owner)]
        if type(owner).__name__ == "LoopContext":
            return getattr(obj, "__name__", "") in _LOOP
        return obj is _range or obj is dict or type(obj).__name__ in ("Macro", "LoopContext")


def _count_loops(tree: nodes.Template) -> None:
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = _through("_counted", loop.iter)
    for glue in list(tree.find_all(nodes.Concat)):
        glue.nodes = [_through("_glued", nodes.List(glue.nodes, lineno=glue.lineno))]


def _through(name: str, node: Any) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _finalize(value: Any) -> Any:
    """Counts output; refuses to print None, which people read as a word."""
    if value is None:
        raise TemplateFailed("the template prints a cell that has no value in this row")
    text = value if isinstance(value, str) else str(value)
    current().grow(len(text))
    return text


def _check_arithmetic(operator: str, left: Any, right: Any) -> None:
    current().step()
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    if operator == "%" and not numbers:
        raise SecurityError("'%' formats nothing here: write {{ a }} {{ b }}")
    if operator == "**" and isinstance(left, int) and isinstance(right, int):
        if abs(left) > 1 and left.bit_length() * abs(right) > MAX_NUMBER_BITS:
            raise SecurityError("the number would be too large")
    if operator == "*":
        if not numbers:
            raise SecurityError("'*' multiplies numbers only")
        if isinstance(left, int) and isinstance(right, int):
            if left.bit_length() + right.bit_length() > MAX_NUMBER_BITS:
                raise SecurityError("the number would be too large")
    if operator == "+" and not numbers:
        current().grow(_size(left) + _size(right))


def _size(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 1


def _glued(parts: list[Any]) -> str:
    texts = [str(part) for part in parts]
    current().grow(sum(map(len, texts)))
    return "".join(texts)


def _join(values: Any, d: str = "", attribute: str | None = None) -> str:
    if attribute is not None:
        raise TemplateFailed("join takes no attribute here: use map first")
    texts = [str(value) for value in counted(values)]
    current().grow(sum(map(len, texts)) + len(d) * len(texts))
    return d.join(texts)


def _replace(text: Any, old: str, new: str) -> str:
    text = str(text)
    current().grow(len(text) + text.count(old) * len(new))
    return str(text).replace(old, new)


def _range(*bounds: int) -> range:
    values = range(*bounds)
    if len(values) > MAX_RANGE:
        raise TemplateFailed(f"range has {len(values)} steps, at most {MAX_RANGE}")
    return values
