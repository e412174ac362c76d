"""Imports only go down the layers, and each heavy library is imported in its one place."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.project.tree import SOURCE, Import, Module, imports, modules

LAYERS = {
    **dict.fromkeys(["core", "_version"], 0),
    **dict.fromkeys(["engines", "datasets", "tasks", "metrics", "stats", "store"], 1),
    "jobs": 2,
    "services": 3,
    **dict.fromkeys(["serving", "api", "sdk"], 4),
    "settings": 5,
    "wiring": 6,
    **dict.fromkeys(["cli"], 7),
    **dict.fromkeys(["__main__"], 8),
}
"""Unit -> layer. The composition root is split in three: the command line uses wiring, which
uses the settings, and nothing of it the other way round."""

ONLY_CORE = {"sdk"}
"""Units that must install without everything between them and the core."""

LAZY = {"__init__.py", "__main__.py"}
"""Files whose internal imports inside functions are their purpose. The commands in cli/ are
the other place: `bakeoff --help` must not load what a command needs."""

THIRD_PARTY = {
    **dict.fromkeys(
        [
            *("torch", "transformers", "ctranslate2", "openvino", "openvino_genai", "accelerate"),
            *("tokenizers", "safetensors", "gguf", "peft", "bitsandbytes", "sentencepiece"),
        ],
        ("engines/", "metrics/bertscore.py"),
    ),
    "llguidance": ("engines/grammar/",),
    "bert_score": ("metrics/bertscore.py",),
    "ray": ("jobs/executors/ray.py",),
    **dict.fromkeys(["sqlalchemy", "alembic"], ("store/sql/",)),
    **dict.fromkeys(["fastapi", "starlette", "uvicorn", "prometheus_client"], ("api/", "serving/")),
    **dict.fromkeys(["typer", "click"], ("cli/",)),
    **dict.fromkeys(["scipy"], ("stats/", "metrics/")),
}
"""Library -> the only places that may import it."""

IN_CORE = {"pydantic", "pydantic_core", "typing_extensions", "annotated_types", "numpy"}
"""All that the core may import beside the standard library; numpy for types alone."""

TARGET = re.compile(r"bakeoff(\.\w+)+:\w+")
"""A lazy entry of a registry."""


def breaches(package: Path = SOURCE) -> list[str]:
    """What breaks the rules, a line each."""
    found = modules(package)
    names = {module.name for module in found}
    lines = []
    for module in found:
        for entry in imports(module):
            lines += [
                f"{module.path}:{entry.line}: {problem}" for problem in _problems(module, entry)
            ]
        for line, target in _targets(module):
            named = target.split(":")[0]
            if named not in names:
                lines.append(f"{module.path}:{line}: {target} names no module")
            lines += [
                f"{module.path}:{line}: {problem}"
                for problem in _climbs(module, Import(named, line, function=False, typing=False))
            ]
    return lines


def _problems(module: Module, entry: Import) -> Iterator[str]:
    top = entry.module.split(".")[0]
    if top == "bakeoff":
        yield from _climbs(module, entry)
        lazy = module.path in LAZY or module.path.startswith("cli/")
        if entry.function and not lazy:
            yield f"imports {entry.module} inside a function"
        return
    allowed = THIRD_PARTY.get(top)
    if allowed is not None and not module.path.startswith(allowed):
        yield f"imports {top}, which only {' and '.join(allowed)} may"
    if _unit(module.name) == "core" and not _core_may(entry):
        yield f"imports {top}, which the core may not"


def _core_may(entry: Import) -> bool:
    top = entry.module.split(".")[0]
    if top == "numpy":
        return entry.typing
    return top in sys.stdlib_module_names or top in IN_CORE


def _climbs(module: Module, entry: Import) -> Iterator[str]:
    """Upward and sideways."""
    unit, other = _unit(module.name), _unit(entry.module)
    if not unit:  # bakeoff/__init__.py: the public names, loaded on first use
        if not (entry.typing or entry.function or other == "_version"):
            yield f"imports {entry.module} at once; a public name loads on first use"
        return
    if other not in LAYERS:
        yield f"imports {entry.module}, which belongs to no layer"
    elif other != unit and LAYERS[other] >= LAYERS[unit]:
        yield f"imports {entry.module}: {unit} must not know {other}"
    elif other != unit and unit in ONLY_CORE and LAYERS[other] > 0:
        yield f"imports {entry.module}: {unit} may import only the core"
    elif module.path.startswith("store/files/") and entry.module.startswith("bakeoff.store.sql"):
        yield f"imports {entry.module}: store/files must not know store/sql"


def _unit(name: str) -> str:
    """`bakeoff.core.specs` -> `core`; empty for the package itself."""
    return [*name.split("."), ""][1]


def _targets(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if TARGET.fullmatch(node.value):
                yield node.lineno, node.value


def test_the_package_keeps_its_layers() -> None:
    assert "\n".join(breaches()) == ""


def test_every_unit_has_a_layer() -> None:
    units = {_unit(module.name) for module in modules()} - {""}
    assert units <= LAYERS.keys()


PLANTED = [
    ("core/a.py", "from bakeoff.jobs.plan import plan", "core must not know jobs"),
    ("core/a.py", "import bakeoff.engines", "core must not know engines"),
    ("core/a.py", "import yaml", "the core may not"),
    ("core/a.py", "import numpy as np", "the core may not"),
    ("tasks/a.py", "from bakeoff.metrics import rouge", "tasks must not know metrics"),
    ("tasks/a.py", "from bakeoff import metrics", "tasks must not know metrics"),
    ("tasks/a.py", "from ..metrics.rouge import Rouge", "tasks must not know metrics"),
    (
        "stats/a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import bakeoff.store.files",
        "stats must not know store",
    ),
    ("store/files/a.py", "import bakeoff.store.sql.tables", "must not know store/sql"),
    ("store/files/a.py", "import sqlalchemy", "only store/sql/ may"),
    ("jobs/a.py", "def f():\n    from bakeoff.core import specs", "inside a function"),
    ("jobs/a.py", "import torch", "only engines/ and metrics/bertscore.py may"),
    ("jobs/a.py", "def f():\n    from torch.nn import Linear", "only engines/"),
    ("metrics/rouge.py", "import transformers", "only engines/"),
    ("jobs/executors/local.py", "import ray", "only jobs/executors/ray.py may"),
    ("sdk/a.py", "from bakeoff.services import submit", "may import only the core"),
    ("api/a.py", "from bakeoff.serving import wire", "api must not know serving"),
    ("wiring.py", "from bakeoff.cli import main", "wiring must not know cli"),
    ("other/a.py", "from bakeoff.nowhere import x", "belongs to no layer"),
    ("tasks/a.py", 'X = {"x": "bakeoff.jobs.plan:plan"}', "tasks must not know jobs"),
    ("tasks/a.py", 'X = {"x": "bakeoff.tasks.gone:Gone"}', "names no module"),
    ("__init__.py", "from bakeoff.wiring import run", "loads on first use"),
]


@pytest.mark.parametrize(("path", "text", "said"), PLANTED)
def test_a_planted_breach_is_found(path: str, text: str, said: str, tmp_path: Path) -> None:
    _plant(tmp_path, path, text)
    assert any(said in line and line.startswith(path) for line in breaches(tmp_path / "bakeoff"))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("core/a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy"),
        ("core/a.py", "import json, pydantic\nfrom bakeoff.core.b import c\nfrom .b import d"),
        ("engines/a.py", "import torch\nfrom bakeoff.core.specs import RunSpec"),
        ("metrics/bertscore.py", "def f():\n    import torch, bert_score"),
        ("cli/run.py", "import typer\ndef run():\n    from bakeoff.wiring import run"),
        ("jobs/executors/ray.py", "import ray\nfrom bakeoff import engines"),
        ("store/sql/a.py", "import sqlalchemy\nimport bakeoff.store.files"),
        ("__init__.py", "from bakeoff._version import v\ndef f():\n    import bakeoff.wiring"),
    ],
)
def test_what_is_allowed_is_not_found(path: str, text: str, tmp_path: Path) -> None:
    _plant(tmp_path, path, text)
    assert breaches(tmp_path / "bakeoff") == []


def _plant(folder: Path, path: str, text: str) -> None:
    file = folder / "bakeoff" / path
    file.parent.mkdir(parents=True)
    file.write_text(text + "\n")
