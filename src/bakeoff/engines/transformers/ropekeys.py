"""Settings of rotary positions in a `config.json`: told twice, or of a kind nobody knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.core.rows import Notice

_CODE = "rope-settings-contradict"


def rope_notices(config: Any, said: Mapping[str, Any]) -> list[Notice]:
    """What the older names (`rope_theta`, `rope_scaling`) and `rope_parameters` say differently.

    Args:
        config: the library's configuration, or its part for text.
        said: the same part of `config.json`.
    """
    found, new = [], said.get("rope_parameters")
    if not isinstance(new, dict):
        return []
    old, base = said.get("rope_scaling"), said.get("rope_theta")
    if isinstance(old, dict) and old and any(new.get(k) != v for k, v in old.items()):
        text = f"config.json has rope_scaling {old} and rope_parameters {new}: the former is taken"
        found.append(Notice(_CODE, text))
    taken = {part.get("rope_theta") for part in _parts(getattr(config, "rope_parameters", None))}
    if base is not None and taken and base not in taken:
        shown = ", ".join(str(value) for value in sorted(taken, key=str))
        text = f"config.json has rope_theta {base}, and {shown} in rope_parameters: that is taken"
        found.append(Notice(_CODE, text))
    return found


def rope_failure(uri: str, config: Any, error: KeyError) -> ModelLoadFailed | None:
    """The error for a kind of rotary positions that the library does not know, if it is that."""
    kinds = {part.get("rope_type") for part in _parts(getattr(config, "rope_parameters", None))}
    if not error.args or error.args[0] not in kinds:
        return None
    known = ", ".join(sorted({"default", *ROPE_INIT_FUNCTIONS}))
    return ModelLoadFailed(
        f"{uri}: rope_type {error.args[0]!r} in its config.json (rope_parameters, or rope_scaling "
        f"in older files) is none that transformers {transformers.__version__} knows for "
        f"{config.model_type}: {known}. Take a newer transformers, or mend the key"
    )


def _parts(rope: Any) -> Iterator[Mapping[str, Any]]:
    """The settings, for each kind of layer where they differ."""
    if isinstance(rope, dict):
        inner = [part for part in rope.values() if isinstance(part, dict)]
        yield from inner if inner and "rope_type" not in rope else [rope]
