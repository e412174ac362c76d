"""Files, functions and parameter lists stay small; no module holds state that changes."""

import ast
from pathlib import Path

import pytest

from tests.unit.project.tree import SOURCE, Function, Module, functions, modules

FILE_LINES = 500
FUNCTION_LINES = 60
PARAMETERS = 6

COMMAND = "each parameter of a command is one of its flags; typer reads them from the signature"
MANY_PARAMETERS = {
    "cli/run.py:run": COMMAND,
    "cli/init.py:init": COMMAND,
    "cli/infer.py:infer": COMMAND,
    "cli/evaluate.py:evaluate": COMMAND,
    "cli/data.py:data": COMMAND,
    "cli/doctor.py:doctor": COMMAND,
    "cli/serve.py:serve": COMMAND,
}
"""Function -> why it may have more than six parameters."""

MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MAKERS = {"list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict"}


def oversized(package: Path = SOURCE) -> list[str]:
    """What is too large, a line each."""
    lines = []
    for module in modules(package):
        if module.lines > FILE_LINES:
            lines.append(f"{module.path}: {module.lines} lines, at most {FILE_LINES}")
        for name, function in functions(module):
            lines += [f"{module.path}:{function.lineno}: {name} {x}" for x in _large(function)]
            if _parameters(function) > PARAMETERS and f"{module.path}:{name}" not in (
                MANY_PARAMETERS
            ):
                lines.append(
                    f"{module.path}:{function.lineno}: {name} has {_parameters(function)} "
                    f"parameters, at most {PARAMETERS}; put them into a spec object"
                )
    return lines


def _large(function: Function) -> list[str]:
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    return [f"has {length} lines, at most {FUNCTION_LINES}"] if length > FUNCTION_LINES else []


def _parameters(function: Function) -> int:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    bound = bool(named) and named[0].arg in ("self", "cls")
    return len(named) - bound + bool(given.vararg) + bool(given.kwarg)


def mutable_globals(package: Path = SOURCE) -> list[str]:
    """Module-level lists, dicts and sets under a name that does not say "constant"."""
    return [line for module in modules(package) for line in _mutable(module)]


def _mutable(module: Module) -> list[str]:
    lines = []
    for node in module.tree.body:
        if isinstance(node, ast.Assign):
            targets: list[ast.expr] = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        for name in names:
            constant = name.isupper() or name.startswith("__")
            if _is_mutable(node.value) and not constant:
                lines.append(f"{module.path}:{node.lineno}: {name} is state shared by all callers")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Global):
            lines.append(f"{module.path}:{node.lineno}: changes the global {', '.join(node.names)}")
    return lines


def _is_mutable(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        called = value.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        return name in MAKERS
    return isinstance(value, MUTABLE)


def test_nothing_is_oversized() -> None:
    assert "\n".join(oversized()) == ""


def test_no_module_holds_mutable_state() -> None:
    assert "\n".join(mutable_globals()) == ""


def test_no_module_is_named_for_nothing() -> None:
    nothing = {"utils", "util", "helpers", "helper", "misc", "common"}
    named = {module.name for module in modules() if nothing & set(module.name.split("."))}
    assert named == set()


def test_every_exception_is_still_needed() -> None:
    many = {
        f"{module.path}:{name}"
        for module in modules()
        for name, function in functions(module)
        if _parameters(function) > PARAMETERS
    }
    assert set(MANY_PARAMETERS) - many == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n" * 501, "501 lines"),
        ("def f():\n" + "    x = 1\n" * 60, "f has 61 lines"),
        ("class A:\n    async def f(self, a, b, c, d, e, f, g): ...\n", "A.f has 7 parameters"),
        ("def f(a, b, c, /, d, *e, f=1, g=2): ...\n", "f has 7 parameters"),
    ],
)
def test_a_planted_giant_is_found(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text)
    assert [line for line in oversized(tmp_path) if said in line]


@pytest.mark.parametrize(
    "text",
    ["seen = set()", "cache: dict[str, int] = {}", "def f():\n    global x\n    x = 1"],
)
def test_planted_state_is_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text + "\n")
    assert mutable_globals(tmp_path)


def test_constants_and_small_functions_pass(tmp_path: Path) -> None:
    text = "NAMES = {1: 2}\n_MORE = [1]\n__all__ = []\nclass A:\n    def f(self, a, b, c, d, e, g):"
    (tmp_path / "a.py").write_text(text + " ...\n")
    assert oversized(tmp_path) == mutable_globals(tmp_path) == []
