"""The tools that export a checkpoint: which versions, and where they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bakeoff.engines.environments import Recipe, build, python_of, remove

RECIPE = Recipe(
    name="openvino",
    torch="2.13.0",
    requirements=(
        "optimum-intel==2.2.0",
        "transformers==5.5.4",
        "openvino==2026.4.1",
        "nncf==3.4.0",
    ),
    unwanted=("torchvision",),  # comes along, and does not import beside the CPU build of torch
    proof="import optimum.exporters.openvino",
)
"""The versions that were tried together: the exporter takes transformers up to 5.5 alone."""
COMMAND = "bakeoff engines add openvino"
"""What installs them."""
_CONFIGS = "site-packages/optimum/exporters/openvino/model_configs.py"
_REGISTERED = re.compile(r"register_in_tasks_manager\(\s*\"([\w-]+)\"")


def exporter() -> Path | None:
    """The interpreter that has the exporter, or None: it is not installed."""
    return python_of(RECIPE)


def exports(family: str) -> bool:
    """Whether the installed exporter knows a family (`model_type`)."""
    python = exporter()
    return python is not None and family.replace("_", "-") in _families(python.parent.parent)


@cache
def _families(environment: Path) -> frozenset[str]:
    """Read from its source, without importing it."""
    found: set[str] = set()
    for path in environment.glob(f"lib/python*/{_CONFIGS}"):
        found.update(_REGISTERED.findall(path.read_text(encoding="utf-8")))
    return frozenset(name.replace("_", "-") for name in found)


class _Tools:
    """See `bakeoff.engines.available.Tools`."""

    def missing(self) -> str | None:
        """What is to be typed before a model can be exported."""
        return None if exporter() else f"needs the tools that export a model: {COMMAND}"

    def add(self, say: Callable[[str], None]) -> str:
        """Build the environment; an existing one is kept."""
        there = exporter() is not None
        folder = build(RECIPE, say=say).parent.parent
        return f"the tools of openvino are {'already ' if there else ''}in {folder}"

    def remove(self) -> bool:
        """Delete the environment."""
        return remove(RECIPE)


TOOLS = _Tools()
"""What `bakeoff engines add openvino` builds."""
