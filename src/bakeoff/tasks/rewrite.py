"""A template's syntax tree: refuse what is not listed, and make the rest pay for itself."""

from __future__ import annotations

import math
from typing import Any

from jinja2 import Environment, nodes
from jinja2.visitor import NodeTransformer

from bakeoff.core.errors import TemplateFailed
from bakeoff.core.registry import near_matches
from bakeoff.tasks.filters import FILTERS, TESTS

MAX_NODES = 10_000
MAX_DEPTH = 100

_ALLOWED = frozenset(
    {
        *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.If, nodes.Assign),
        *(nodes.AssignBlock, nodes.With, nodes.Name, nodes.Const, nodes.Tuple, nodes.List),
        *(nodes.Dict, nodes.Pair, nodes.Keyword, nodes.CondExpr, nodes.Filter, nodes.Test),
        *(nodes.Call, nodes.Getitem, nodes.Getattr, nodes.Concat, nodes.Compare, nodes.Operand),
        *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow),
        *(nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos),
    }
)


def rewrite(tree: nodes.Template, environment: Environment) -> nodes.Template:
    """The tree that is compiled.

    Raises:
        TemplateFailed: it holds something that is not listed, or too much; the line is named.
    """
    found = _Rewriter().visit(tree)
    assert isinstance(found, nodes.Template)
    found.set_environment(environment)
    return found


class _Rewriter(NodeTransformer):
    """Visits children first, so that nothing it adds is visited again."""

    def __init__(self) -> None:
        self._count = 0
        self._depth = 0

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        self._count += 1
        if self._count > MAX_NODES:
            raise TemplateFailed(f"it has more than {MAX_NODES} parts")
        if self._depth > MAX_DEPTH:
            raise TemplateFailed(f"line {node.lineno}: it is nested too deeply")
        if type(node) not in _ALLOWED:
            raise _refused(node, type(node).__name__)
        self._depth += 1
        try:
            return super().visit(node, *args, **kwargs)
        finally:
            self._depth -= 1

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        # bare template text is written without asking `finalize`; a constant is not
        node.nodes = [
            nodes.Const(child.data, lineno=child.lineno)
            if isinstance(child, nodes.TemplateData)
            else child
            for child in node.nodes
        ]
        return self.generic_visit(node)

    def visit_For(self, node: nodes.For) -> nodes.Node:
        if node.recursive:
            raise _refused(node, "recursive loop")
        self.generic_visit(node)
        node.iter = _through("_looped", node.iter)
        return node

    def visit_Filter(self, node: nodes.Filter) -> nodes.Node:
        _known(node, "filter", node.name, FILTERS)
        return self.generic_visit(node)

    def visit_Test(self, node: nodes.Test) -> nodes.Node:
        _known(node, "test", node.name, TESTS)
        return self.generic_visit(node)

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.Node:
        if node.expr2 is None:  # "{{ ', ' if not loop.last }}": nothing rather than an error
            node.expr2 = nodes.Const("", lineno=node.lineno)
        return self.generic_visit(node)

    def visit_Const(self, node: nodes.Const) -> nodes.Node:
        value = node.value
        if isinstance(value, float) and not math.isfinite(value):
            raise TemplateFailed(f"line {node.lineno}: the number is too large")
        return node

    def visit_Getattr(self, node: nodes.Getattr) -> nodes.Node:
        if node.attr.startswith("__"):
            raise _refused(node, f"attribute {node.attr}")
        return self.generic_visit(node)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        if not isinstance(node.arg, nodes.Slice):
            return self.generic_visit(node)
        piece = node.arg
        bounds = [
            nodes.Const(None, lineno=node.lineno) if bound is None else self.visit(bound)
            for bound in (piece.start, piece.stop, piece.step)
        ]
        return _through("_sliced", self.visit(node.node), bounds)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _through("_glued", nodes.List(node.nodes, lineno=node.lineno))

    def visit_Operand(self, node: nodes.Operand) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _through("_compared", node.expr)
        return node

    def visit_List(self, node: nodes.List) -> nodes.Node:
        return _through("_made", self.generic_visit(node))

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        return _through("_made", self.generic_visit(node))

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return _through("_made", node) if node.ctx == "load" else node


def _through(name: str, node: Any, args: list[Any] | None = None) -> nodes.Filter:
    return nodes.Filter(node, name, args or [], [], None, None, lineno=node.lineno)


def _refused(node: nodes.Node, what: str) -> TemplateFailed:
    return TemplateFailed(
        f"line {node.lineno}: {what} is switched off: a template has text, {{{{ }}}}, if, for, "
        "set, with and raw"
    )


def _known(node: nodes.Node, kind: str, name: str, known: Any) -> None:
    if name not in known:
        near = near_matches(name, tuple(known))
        hint = f"did you mean {near[0]!r}? " if near else ""
        listed = ", ".join(sorted(n for n in known if n[0].isalpha()))
        raise TemplateFailed(f"line {node.lineno}: there is no {kind} {name!r}: {hint}{listed}")
