"""The libraries by themselves, in several settings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import GenerateRequest, Tokens
from bakeoff.engines import describe
from benchmarks.generation import plain_model

BATCHES = (16, 32, 64)


@dataclass(frozen=True)
class Bare:
    """A library, and how it is driven.

    Attributes:
        name: of the library.
        size: rows of a batch.
        workers: batches at the same time.
        threads: of each.
    """

    name: str
    size: int
    workers: int
    threads: int

    def __str__(self) -> str:
        how = f"batches of {self.size}, {self.workers}x{self.threads} threads"
        return f"{self.name} ({how})"


def ways(threads: int) -> list[Bare]:
    """Every setting that is tried."""
    plain = [Bare("transformers", size, 1, threads) for size in BATCHES[:2]]
    split = {(1, threads), (threads, 1)}
    return plain + [Bare("ctranslate2", size, *how) for size in BATCHES for how in sorted(split)]


def bare_speed(ref: ModelRef, rows: Sequence[GenerateRequest], bare: Bare) -> float:
    """New tokens a second of a library by itself, on rows sorted by length."""
    if bare.name == "transformers":
        return _transformers(plain_model(ref, bare.threads), rows, bare.size)
    return _ct2(describe(ref), rows, bare)


def _transformers(model: Any, rows: Sequence[GenerateRequest], size: int) -> float:
    """Batched `generate`; a batch runs to its longest answer."""
    import torch

    left = not model.config.is_encoder_decoder
    tokens, started = 0, time.perf_counter()
    for batch in _batches(rows, size):
        width = max(len(_ids(row)) for row in batch)
        ids, mask = [], []
        for row in batch:
            pad = [0] * (width - len(_ids(row)))
            on = [1] * len(_ids(row))
            ids.append([*pad, *_ids(row)] if left else [*_ids(row), *pad])
            mask.append(pad + on if left else on + pad)
        new = max(_new(row) for row in batch)
        with torch.inference_mode():
            model.generate(
                torch.tensor(ids),
                attention_mask=torch.tensor(mask),
                max_new_tokens=new,
                min_new_tokens=new,
                do_sample=False,
            )
        tokens += sum(_new(row) for row in batch)  # what a row wrote beyond its own is thrown away
    return tokens / (time.perf_counter() - started)


def _ct2(facts: ModelFacts, rows: Sequence[GenerateRequest], bare: Bare) -> float:
    """One call for each limit on new tokens: the library takes one limit a call."""
    from bakeoff.engines.ctranslate2.converted import Kept, converted

    with converted(facts) as lease:
        runner = _runner(facts, lease, bare.workers, bare.threads)
        start = Kept.read(lease.path).starts_with
    begin = [str(start if start is not None else _start(facts))]
    jobs, started = [], time.perf_counter()
    for batch in _batches(rows, bare.size):
        new = max(_new(row) for row in batch)
        ids = [[str(token) for token in _ids(row)] for row in batch]
        if facts.capabilities.kind == "seq2seq":
            limits = {"max_decoding_length": new, "min_decoding_length": new}
            jobs += runner.translate_batch(
                ids, target_prefix=[begin] * len(ids), beam_size=1, asynchronous=True, **limits
            )
        else:
            jobs += runner.generate_batch(
                ids, max_length=new, min_length=new, beam_size=1, sampling_topk=1,
                include_prompt_in_result=False, asynchronous=True,
            )  # fmt: skip
    for job in jobs:
        job.result()
    return sum(_new(row) for row in rows) / (time.perf_counter() - started)


def bare_load_seconds(ref: ModelRef, threads: int) -> float:
    """Loading a conversion and the tokenizer, with nothing around."""
    from transformers import AutoTokenizer

    from bakeoff.engines.ctranslate2.converted import SOURCE, converted

    facts = describe(ref)
    with converted(facts) as lease:
        started = time.perf_counter()
        _runner(facts, lease, 2, max(1, threads // 2))
        AutoTokenizer.from_pretrained(str(lease.path / SOURCE))
        return time.perf_counter() - started


def _runner(facts: ModelFacts, lease: Any, workers: int, threads: int) -> Any:
    import ctranslate2

    from bakeoff.engines.ctranslate2.converted import MODEL

    kind = "Translator" if facts.capabilities.kind == "seq2seq" else "Generator"
    return getattr(ctranslate2, kind)(
        str(lease.path / MODEL),
        compute_type="float32",
        inter_threads=workers,
        intra_threads=threads,
    )


def _start(facts: ModelFacts) -> int:
    from transformers import AutoConfig

    from bakeoff.engines.ctranslate2.converted import SOURCE, converted

    with converted(facts) as lease:
        config = AutoConfig.from_pretrained(str(lease.path / SOURCE))
    return int(getattr(config, "decoder_start_token_id", None) or 0)


def _batches(rows: Sequence[GenerateRequest], size: int) -> Iterator[list[GenerateRequest]]:
    ordered = sorted(rows, key=lambda row: (_new(row), len(_ids(row))))
    for begin in range(0, len(ordered), size):
        yield ordered[begin : begin + size]


def _ids(row: GenerateRequest) -> tuple[int, ...]:
    assert isinstance(row.prompt, Tokens)
    return tuple(row.prompt.ids)


def _new(row: GenerateRequest) -> int:
    return row.params.max_new_tokens or 0
