"""The package's source as syntax trees: what the project's own rules are checked on."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "src" / "bakeoff"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """A source file.

    Attributes:
        path: relative to the package's folder, with forward slashes.
        name: as it is imported.
        tree: its syntax tree.
        lines: how many it has.
    """

    path: str
    name: str
    tree: ast.Module
    lines: int


class Import(NamedTuple):
    """One module that another one imports.

    Attributes:
        module: full dotted name of what is imported.
        line: where.
        function: whether it stands inside a function.
        typing: whether it stands under `if TYPE_CHECKING`.
    """

    module: str
    line: int
    function: bool
    typing: bool


@functools.cache
def modules(package: Path = SOURCE) -> list[Module]:
    """All modules of the package in that folder, which is named like the package."""
    found = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        relative = path.relative_to(package)
        parts = [package.name, *relative.with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(
            Module(relative.as_posix(), name, ast.parse(text, str(path)), len(text.splitlines()))
        )
    return found


def imports(module: Module) -> list[Import]:
    """Every import of a module, relative ones resolved."""
    return list(_imports(module, module.tree, function=False, typing=False))


def _imports(module: Module, node: ast.AST, function: bool, typing: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, function, typing)
        elif isinstance(child, ast.ImportFrom):
            base = _base(module, child)
            for alias in child.names:
                # `from bakeoff import jobs` names a module, `from bakeoff.jobs import plan` may
                yield Import(f"{base}.{alias.name}", child.lineno, function, typing)
        else:
            yield from _imports(
                module,
                child,
                function or isinstance(child, Function | ast.Lambda),
                typing or _only_for_types(child),
            )


def _base(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    keep = len(parts) - node.level + module.path.endswith("__init__.py")
    return ".".join([*parts[:keep], *([node.module] if node.module else [])])


def _only_for_types(node: ast.AST) -> bool:
    if not isinstance(node, ast.If):
        return False
    test = node.test
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def functions(module: Module) -> list[tuple[str, Function]]:
    """Every function with its dotted name inside the module."""
    return list(_functions(module.tree, ""))


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if isinstance(child, Function):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)
