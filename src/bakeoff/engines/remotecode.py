"""Python code that comes with a checkpoint: needed, allowed, pinned."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bakeoff.core.errors import UnsupportedOption
from bakeoff.engines.checkpoint import Checkpoint

_TABLES = ("auto_mappings.py", "configuration_auto.py")


def foreign_repositories(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Repositories whose code `auto_map` names (`org/name--module.Class`), sorted."""
    targets = [t for t in (config.get("auto_map") or {}).values() if isinstance(t, str)]
    return tuple(sorted({t.partition("--")[0] for t in targets if "--" in t}))


def check_trust(checkpoint: Checkpoint, trusted: bool) -> None:
    """Whether the checkpoint loads without its own code, where that is not trusted.

    Raises:
        UnsupportedOption: it does not; the message names the option and the files.
    """
    config = checkpoint.config
    model_type = str(config.get("model_type") or "")
    if trusted or "auto_map" not in config or knows(model_type):
        return
    raise UnsupportedOption(
        f"{checkpoint.name} is of the type {model_type!r}, which transformers does not know, and "
        "brings Python code of its own: read it, and write `trust_remote_code: true` to run it",
        option="trust_remote_code",
    )


def knows(model_type: str) -> bool:
    """Whether the installed transformers has a class for a model type, without importing it.

    Its tables of model types are looked through as text: importing them would import torch.
    """
    spec = importlib.util.find_spec("transformers")
    folders = (spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        for table in _TABLES:
            path = Path(folder, "models", "auto", table)
            if path.is_file() and f'"{model_type}"' in path.read_text(encoding="utf-8"):
                return True
    return False
