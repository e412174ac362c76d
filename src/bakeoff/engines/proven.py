"""Which decode settings of an engine were found to give the texts of plain transformers.

Each engine that may be taken by `auto` has a table beside its code, `engines/<name>/proven.yaml`,
written by `make prove`. A setting that is not in it is not proven.
"""

from __future__ import annotations

import importlib.metadata
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from bakeoff.core.requests import GenerationParams

Standing = Literal["equal", "differs", "unproven", "unknown-version"]
_FOLDER = Path(__file__).resolve().parent
_HEADER = """\
# Texts of this engine against plain transformers, one request alone. Written by `make prove`.
# A family is the model_type of a checkpoint. Models are those of tests/zoo; ties are rows whose
# reference had its two best logits less than 1e-4 apart where the texts part.
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """What a comparison found.

    Attributes:
        family: `model_type` of the checkpoint.
        mode: decode settings, see `mode_of`.
        models: of the zoo, with which it was compared.
        rows: texts compared.
        equal: of these, how many were the same token for token.
        ties: how many others part where either token is right.
        result: whether the mode counts as proven.
    """

    family: str
    mode: str
    models: tuple[str, ...]
    rows: int
    equal: int
    ties: int
    result: Literal["equal", "differs"]


@dataclass(frozen=True, slots=True)
class Proofs:
    """One version's comparisons.

    Attributes:
        version: of the engine's library.
        reference: what its texts were compared with.
        proofs: the comparisons.
    """

    version: str
    reference: str
    proofs: tuple[Proof, ...]


def mode_of(params: GenerationParams) -> str:
    """The decode settings that a text hangs on, in words; equal settings give equal words.

    Beams stand with their numbers, since search differs with them; a rule on the logits counts
    whatever its strength. Stop strings only end a text, so that they are left out.
    """
    beams = params.num_beams or 1
    if params.sampled:
        return "sampled"
    if beams == 1:
        search = "greedy"
    else:
        stopping = params.early_stopping if params.early_stopping is not None else False
        length = 1.0 if params.length_penalty is None else params.length_penalty
        search = f"{beams} beams, early_stopping {str(stopping).lower()}, length_penalty {length:g}"
    rules = {
        "min_new_tokens": bool(params.min_new_tokens),
        "no_repeat_ngram_size": bool(params.no_repeat_ngram_size),
        "repetition_penalty": (params.repetition_penalty or 1.0) != 1.0,
        "frequency_penalty": bool(params.frequency_penalty),
        "presence_penalty": bool(params.presence_penalty),
        "logit_bias": bool(params.logit_bias),
    }
    return " + ".join([search, *(name for name, on in rules.items() if on)])


def standing(engine: str, family: str, params: GenerationParams) -> Standing:
    """What is known of an engine's texts for a family and decode settings, as installed."""
    versions = {one.version: one for one in read_proofs(engine)}
    known = versions.get(importlib.metadata.version(engine))
    if known is None:
        return "unknown-version"
    mode = mode_of(params)
    found = (one.result for one in known.proofs if (one.family, one.mode) == (family, mode))
    return next(found, "unproven")


@cache
def read_proofs(engine: str) -> tuple[Proofs, ...]:
    """The table of an engine; empty where it has none."""
    path = table_path(engine)
    if not path.is_file():
        return ()
    found = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return tuple(_proofs(entry) for entry in found)


def table_path(engine: str) -> Path:
    """Where the table of an engine lies."""
    return _FOLDER / engine / "proven.yaml"


def write_proofs(engine: str, found: Proofs) -> None:
    """Put a version's comparisons into the table, in place of earlier ones of that version."""
    others = [one for one in read_proofs(engine) if one.version != found.version]
    entries = [_entry(one) for one in sorted([*others, found], key=lambda one: one.version)]
    text = yaml.safe_dump(entries, sort_keys=False, width=160, default_flow_style=None)
    table_path(engine).write_text(_HEADER + text, encoding="utf-8")
    read_proofs.cache_clear()


def _proofs(entry: dict[str, Any]) -> Proofs:
    proofs = tuple(Proof(**{**one, "models": tuple(one["models"])}) for one in entry["comparisons"])
    return Proofs(str(entry["version"]), str(entry["reference"]), proofs)


def _entry(found: Proofs) -> dict[str, Any]:
    comparisons = [{**asdict(one), "models": list(one.models)} for one in found.proofs]
    return {
        "version": found.version, "reference": found.reference, "comparisons": comparisons,
    }  # fmt: skip
