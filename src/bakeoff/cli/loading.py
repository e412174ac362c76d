"""A model reference made from flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bakeoff.cli.building import option_values
from bakeoff.core.modelref import LoadOptions, ModelRef
from bakeoff.core.registry import unknown
from bakeoff.core.specs import ModelEntry
from bakeoff.jobs.contender import model_ref
from bakeoff.jobs.specfaults import Origin
from bakeoff.jobs.specfile import parse_part
from bakeoff.jobs.specyaml import Loc


def reference(model: str, options: Sequence[str]) -> ModelRef:
    """The model that `MODEL --option NAME=VALUE ...` names.

    Raises:
        InvalidRequest: an option is not NAME=VALUE, or is given twice.
        UnknownName: an option does not say how a model is loaded; near matches are named.
        InvalidSpec: a value does not fit, or the reference is none.
        UnsupportedOption: it names an endpoint, which this version does not speak to.
    """
    return reference_of(model, {}, options)


def reference_of(model: str, flags: Mapping[str, Any], options: Sequence[str]) -> ModelRef:
    """The same where some options have flags of their own; `--option` wins over these.

    Raises:
        BakeoffError: as `reference`.
    """
    values = option_values(options)
    known = tuple(LoadOptions.model_fields)
    for name in values:
        if name not in known:
            raise unknown("option of loading", name, known)
    entry = parse_part(ModelEntry, {"model": model, **flags, **values}, Origin("", place=_place))
    return model_ref(entry, Path.cwd())


def _place(loc: Loc) -> str:
    """The flag that a value came from."""
    names = [str(part) for part in loc if isinstance(part, str)]
    return f"--option {'.'.join(names)}" if names and names[0] != "model" else "MODEL"
