"""Compares an engine's texts with plain transformers and writes its `proven.yaml` (`make prove`).

Over the generating models of tests/zoo that the engine takes, and the decode settings that `route`
tells apart. What the engine refuses by itself is compared too where it can be computed: the table
then says what would come of it. Takes some minutes. `--engine openvino` needs its extra and its
tools (`bakeoff engines add openvino`).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers

from bakeoff.core.errors import ModelLoadFailed
from bakeoff.core.outputs import Completion, Failure
from bakeoff.core.registry import Registry
from bakeoff.core.requests import GenerateRequest, GenerationParams
from bakeoff.engines.batch.rows import Arrived, Control
from bakeoff.engines.needs import Needs
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.proven import (
    Proof,
    Proofs,
    mode_of,
    read_proofs,
    table_path,
    write_proofs,
)
from tests.contract.reference import TIE, Reference
from tests.contract.targets import Target
from tests.zoo import GENERATING

WORKERS: Registry[Any] = Registry(
    "engine",
    {name: f"bakeoff.engines.{name}.worker:Worker" for name in ("ctranslate2", "openvino")},
)
ABLE: Registry[Any] = Registry(
    "engine", {name: f"bakeoff.engines.{name}.able:why_not" for name in WORKERS}
)
ROWS = 60
LENGTHS = (25, 50, 100, 120)
"""Of the texts: some end by themselves, some run to their limit."""
Settings = dict[str, Any]
PLAIN = GenerationParams(temperature=0.0, num_beams=1)
MIN: Settings = {"min_new_tokens": (30, 70, 90)}
NGRAM: Settings = {"no_repeat_ngram_size": (2, 3, 4)}
REPEAT: Settings = {"repetition_penalty": (1.1, 1.3, 2.0)}
"""Values that rows take in turn, so that each rule binds in many of them."""
GREEDY: list[Settings] = [
    {},
    MIN,
    NGRAM,
    REPEAT,
    MIN | NGRAM,
    MIN | REPEAT,
    NGRAM | REPEAT,
    MIN | NGRAM | REPEAT,
]
BEAMS: list[Settings] = [
    {"num_beams": 4, "early_stopping": early, "length_penalty": penalty}
    for early in (True, False)
    for penalty in (0.6, 1.0, 2.0)
] + [{"num_beams": beams, "early_stopping": True} for beams in (2, 5, 6)]
BEAMS += [
    {"num_beams": 4, "early_stopping": True, "length_penalty": penalty, **rules}
    for penalty, rules in ((1.0, NGRAM), (1.0, MIN), (2.0, NGRAM), (2.0, MIN | NGRAM))
]
"""The last are the own settings of bart-large-cnn and, for summaries, of t5-base."""
CAUSAL: list[Settings] = [{}, MIN, {"num_beams": 4, "early_stopping": True}]
"""Decoder-only models: penalties look at the prompt in transformers and not in ctranslate2."""
PENALISED: list[Settings] = [{}, MIN, REPEAT, MIN | REPEAT]
"""Decoder-only models on openvino, whose penalty looks at the prompt as well."""


@dataclass
class Count:
    """Of one family and mode, over all its models."""

    models: list[str]
    rows: int = 0
    equal: int = 0
    ties: int = 0
    tokens: int = 0

    def proof(self, family: str, mode: str) -> Proof:
        """What the table says."""
        excused = self.ties <= max(1, self.tokens // 10_000)
        equal = excused and self.equal + self.ties == self.rows
        return Proof(
            family=family,
            mode=mode,
            models=tuple(self.models),
            rows=self.rows,
            equal=self.equal,
            ties=self.ties,
            result="equal" if equal else "differs",
        )


def main() -> None:
    """Compare and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(GENERATING), help="of the zoo")
    parser.add_argument("--engine", default="ctranslate2", choices=list(WORKERS))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--dry", action="store_true", help="print, and leave the table alone")
    said = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    warnings.filterwarnings("ignore", "Unfeasible length|Recommended: pip install")
    counts: dict[tuple[str, str], Count] = {}
    for name in said.models:
        target = Target(name, said.engine)
        family = target.facts().family
        reason = ABLE.get(said.engine)(target.facts(), Needs(params=PLAIN))
        if reason is not None:
            print(f"{name}: {reason}")
            continue
        try:
            worker = WORKERS.get(said.engine)(target.facts(), EngineOptions(threads=2))
        except ModelLoadFailed as error:
            print(f"{name}: {error.message}")
            continue
        for mode, count in compared(target, worker, said.rows):
            total = counts.setdefault((family, mode), Count([]))
            total.models.append(name)
            total.rows += count.rows
            total.equal += count.equal
            total.ties += count.ties
            total.tokens += count.tokens
        worker.close()
        if not said.dry:  # after each model, so that what is known is kept
            write(said.engine, counts)


def write(engine: str, counts: dict[tuple[str, str], Count]) -> None:
    """Put the comparisons into the table; families that were not compared now stay as they are."""
    version = importlib.metadata.version(engine)
    proofs = {key: count.proof(*key) for key, count in counts.items()}
    families = {family for family, _ in proofs}
    for known in read_proofs(engine):
        if known.version == version:
            others = (one for one in known.proofs if one.family not in families)
            proofs |= {(one.family, one.mode): one for one in others}
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("transformers", "torch")]
    found = tuple(proofs[key] for key in sorted(proofs))
    write_proofs(engine, Proofs(version, ", ".join(versions), found))
    print(f"wrote {table_path(engine)}: {len(found)} comparisons")


def compared(target: Target, worker: Any, rows: int) -> Iterator[tuple[str, Count]]:
    """Every mode of a model."""
    plain = Reference(Target(target.name))
    causal = target.facts().capabilities.kind == "causal"
    decoder_only = PENALISED if target.engine == "openvino" else CAUSAL
    for settings in decoder_only if causal else GREEDY + BEAMS:
        began = time.perf_counter()
        requests = [
            target.ask(text, f"r{at}", max_new_tokens=LENGTHS[at % len(LENGTHS)], **own)
            for at, text in enumerate(target.inputs(rows))
            for own in [of_row(settings, at // len(LENGTHS))]
        ]
        mode = mode_of(requests[0].params)
        count = Count([target.name])
        for request, made in zip(requests, texts(worker, requests), strict=True):
            add(count, plain, request, made)
        took = time.perf_counter() - began
        print(
            f"{target.name}: {mode}: {count.equal} of {count.rows} equal, {count.ties} ties, "
            f"{took:.0f} s",
            flush=True,
        )
        yield mode, count


def of_row(settings: Settings, at: int) -> Settings:
    """The values of one row."""
    return {
        name: value[at % len(value)] if isinstance(value, tuple) else value
        for name, value in settings.items()
    }


def texts(worker: Any, requests: Sequence[GenerateRequest]) -> list[Completion | Failure]:
    """What the engine writes, all rows together, whether it would refuse them or not."""
    rows, failures = worker.rows([Arrived(request, time.perf_counter()) for request in requests])
    found = {failure.id: failure for failure in failures}
    for batch in worker.careful.plan(rows):
        found |= {made.id: made for made in worker.complete(batch, Control())}
    return [found[request.id] for request in requests]


def add(
    count: Count, plain: Reference, request: GenerateRequest, made: Completion | Failure
) -> None:
    """Compare one text, token for token."""
    assert isinstance(made, Completion), made
    expected, gaps = plain.generate(request)
    found = list(made.token_ids)
    count.rows += 1
    count.tokens += len(expected)
    if found == expected:
        count.equal += 1
        return
    pairs = enumerate(zip(found, expected, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(found), len(expected)))
    greedy = request.params.num_beams in (None, 1)
    count.ties += greedy and at < len(gaps) and gaps[at] < TIE


if __name__ == "__main__":
    main()
