"""The generation key: one hash for everything that a row's text hangs on.

Two parts. `KeyParts` are what all rows of a model share; the other part is what this row asks.
The parts are stored in the header of each journal segment, so that a run can say what changed.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from bakeoff.core.canonical import canonical, digest
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Ask
from bakeoff.core.requests import GenerationParams, Truncate

KEY_VERSION = 3


@dataclass(frozen=True, slots=True)
class KeyParts:
    """What all rows of one model share.

    Attributes:
        values: JSON object, see `key_parts`.
        digest: SHA-256 over it.
    """

    values: dict[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a model decodes in this run.

    Attributes:
        params: resolved; nothing is left to a library's default.
        truncate: what happens to an input that does not fit.
        engine: name and version, only where `strict_engine` is on.
        epoch: raised when all rows are to be made anew.
    """

    params: GenerationParams
    truncate: Truncate
    engine: str | None = None
    epoch: int = 0


def key_parts(facts: ModelFacts, decoding: Decoding) -> KeyParts:
    """Identity, loading, numerics and decoding of a model.

    What is laid over a model counts by its content, where the identity holds it, and not by its
    place.
    """
    ref = facts.ref
    values = {
        "key_version": KEY_VERSION,
        "model": facts.identity,
        "adapter": None if "+adapter:" in facts.identity else ref.adapter,
        "tokenizer": None if "+tokenizer:" in facts.identity else ref.tokenizer,
        "torch_dtype": ref.torch_dtype,
        "quantisation": ref.quantisation,
        "compute_type": None if ref.compute_type == "float32" else ref.compute_type,
        "use_fast": ref.use_fast,
        "numerics": facts.numerics,
        "engine": decoding.engine,
        "generation": decoding.params.said(),
        "truncate": decoding.truncate,
        "epoch": decoding.epoch,
    }
    return KeyParts(values, digest(values))


def row_key(parts: KeyParts, payload: Any, repeat: int) -> str:
    """Key of a row and repeat.

    `payload` is what the row asks, see `ask_payload`, and what its answer is made with, see
    `Task.answer_settings`.
    """
    hashed = hashlib.sha256(parts.digest.encode())
    hashed.update(canonical([payload, repeat]))
    return hashed.hexdigest()


def ask_payload(ask: Ask) -> list[Any]:
    """What a row asks, as JSON: prompts with templates filled in, languages, labels."""
    return [[type(item).__name__, asdict(item)] for item in ask]


def seed_for(params: GenerationParams, payload: Any, repeat: int) -> GenerationParams:
    """The same settings with a seed of the row's own.

    Rows that ask different things draw different numbers, as do repeats; the same row draws the
    same numbers wherever it stands. Greedy settings are returned as they are.
    """
    if not params.sampled:
        return params
    drawn = hashlib.sha256(canonical([params.seed or 0, payload, repeat])).digest()
    return GenerationParams(seed=int.from_bytes(drawn[:7], "big")).over(params)


def what_changed(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Differences of two sets of parts in words, `generation.max_new_tokens 32 -> 64`."""
    flat_old, flat_new = _flat(old), _flat(new)
    return [
        f"{name} {' -> '.join(_apart(flat_old.get(name), flat_new.get(name)))}"
        for name in sorted(flat_old | flat_new)
        if flat_old.get(name) != flat_new.get(name)
    ]


def _flat(values: dict[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{above}{name}.")
        else:
            flat[above + name] = value
    return flat


def _apart(old: Any, new: Any) -> tuple[str, str]:
    """Both values, short; of identities with something laid over them, the part that differs."""
    if isinstance(old, str) and isinstance(new, str):
        pairs = zip_longest(old.split("+"), new.split("+"))
        old, new = next(pair for pair in pairs if pair[0] != pair[1])
    return _short(old), _short(new)


def _short(value: Any) -> str:
    text = "default" if value is None else str(value)
    return text if len(text) <= 24 else text[:12] + "..."
