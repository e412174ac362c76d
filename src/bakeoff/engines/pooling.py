"""How an encoder's hidden states become one vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bakeoff.core.errors import UnsupportedOption
from bakeoff.engines.checkpoint import read_json

Mode = Literal["mean", "cls", "lasttoken"]
_MODES: dict[str, Mode] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True, slots=True)
class Pooling:
    """Which hidden states count, and whether the vector is brought to length 1."""

    mode: Mode = "mean"
    normalise: bool = True


def read_pooling(name: str, folder: Path) -> Pooling:
    """Pooling that a sentence-transformers model names in `modules.json`.

    Every other model gets the mean over real tokens, at length 1.

    Raises:
        UnsupportedOption: the model has a module or a pooling that bakeoff does not compute.
    """
    modules = read_json(name, folder / "modules.json", list)
    if not modules:
        return Pooling()
    found, normalise = Pooling(normalise=False), False
    for module in modules:
        kind = str(module.get("type", "")).rsplit(".", 1)[-1]
        if kind == "Pooling":
            path = folder / str(module.get("path", "")) / "config.json"
            found = Pooling(_mode(name, read_json(name, path) or {}), False)
        elif kind == "Normalize":
            normalise = True
        elif kind != "Transformer":
            raise UnsupportedOption(
                f"{name} ends in a module {kind!r}, which bakeoff does not compute: name a model "
                "of the modules Transformer, Pooling and Normalize",
                option="model",
            )
    return Pooling(found.mode, normalise)


def read_prompt(name: str, folder: Path) -> str:
    """Text that a sentence-transformers model wants before every input by default."""
    config = read_json(name, folder / "config_sentence_transformers.json") or {}
    chosen = (config.get("prompts") or {}).get(config.get("default_prompt_name"))
    return chosen if isinstance(chosen, str) else ""


def _mode(name: str, config: Mapping[str, Any]) -> Mode:
    said = config.get("pooling_mode")
    chosen = {key for key, value in config.items() if value is True and "pooling_mode" in key}
    modes = {said} if said else {_MODES.get(key, key) for key in chosen}
    for mode in _MODES.values():
        if modes == {mode}:
            return mode
    raise UnsupportedOption(
        f"{name} pools by {' and '.join(sorted(map(str, modes))) or 'nothing'}: bakeoff computes "
        "mean, cls or lasttoken",
        option="model",
    )
