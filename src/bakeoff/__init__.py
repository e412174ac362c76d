"""bakeoff runs, serves and compares language models on your own data.

import bakeoff

report = bakeoff.run("bakeoff.yaml")
print(report.ranking)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff._version import __version__

if TYPE_CHECKING:
    from bakeoff.core.errors import BakeoffError
    from bakeoff.core.report import Report
    from bakeoff.core.specs import RunSpec
    from bakeoff.wiring import run

_LAZY = {
    "BakeoffError": "bakeoff.core.errors",
    "Report": "bakeoff.core.report",
    "RunSpec": "bakeoff.core.specs",
    "run": "bakeoff.wiring",
}

__all__ = ["BakeoffError", "Report", "RunSpec", "__version__", "run"]


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Load a public name on first use, so that `import bakeoff` costs nothing."""
    if name not in _LAZY:
        raise AttributeError(f"module 'bakeoff' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
