"""Writes the list of modules in docs/structures.md from their docstrings; --check compares."""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "structures.md"
SOURCE = ROOT / "src" / "bakeoff"
BEGIN, END = "<!-- modules: written by make docs -->", "<!-- end of modules -->"

LAYERS = {
    "core": "Layer 0: nouns and rules",
    "engines": "Layer 1: models",
    "datasets": "Layer 1: data",
    "tasks": "Layer 1: tasks",
    "metrics": "Layer 1: metrics",
    "stats": "Layer 1: statistics",
    "store": "Layer 1: what is kept",
    "jobs": "Layer 2: runs",
    "serving": "Layer 4: models over HTTP",
    "cli": "Layer 5: the command line",
    "": "Layer 5: the composition root, and the package itself",
}


def first_line(path: Path) -> str:
    """What a module says it is.

    Raises:
        SystemExit: it says nothing.
    """
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not text:
        raise SystemExit(f"{path}: a module begins with a docstring of one line")
    return " ".join(text.split("\n\n")[0].split())


def modules() -> str:
    """The tables, one a unit, in the order of the layers."""
    found: dict[str, list[str]] = {unit: [] for unit in LAYERS}
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE)
        unit = inside.parts[0] if len(inside.parts) > 1 else ""
        name = inside.as_posix()
        if inside.name == "__init__.py":
            name = f"{inside.parent.as_posix()}/" if inside.parent.name else "__init__.py"
        cell = first_line(path).replace("|", "\\|")
        found[unit].append(f"| `{name}` | {cell} |")
    parts = []
    for unit, rows in found.items():
        title = f"### {f'`{unit}/`: ' if unit else ''}{LAYERS[unit]}"
        parts.append("\n".join([title, "", "| module | what it is |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def page(text: str) -> str:
    """The page with its list of modules as it should be."""
    block = f"{BEGIN}\n\n{modules()}\n\n{END}"
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    done, count = pattern.subn(lambda _: block, text)
    if count != 1:
        raise SystemExit(f"{PAGE}: the lines {BEGIN} and {END} are missing")
    return done


def main() -> int:
    """Write the page, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the page is out of date")
    check = parser.parse_args().check
    text = PAGE.read_text(encoding="utf-8")
    wanted = page(text)
    if not check:
        PAGE.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        print("docs/structures.md is out of date: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
