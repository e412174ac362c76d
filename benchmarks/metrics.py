"""ROUGE over 5,000 pairs; intervals for 5 models, 10,000 rows and 6 per-row metrics."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import numpy as np

from bakeoff.core.ports import MetricInput
from bakeoff.core.specs import MetricSpec
from bakeoff.metrics import build_metrics
from bakeoff.stats.bootstrap import mean_intervals
from benchmarks.results import Result


def measure(threads: int, scale: float) -> Iterator[Result]:
    """Both, at full size; the threads do not matter."""
    for name, alphabet in (("ASCII", "abcdefgh"), ("Cyrillic", "абвгдежз")):
        seconds = _rouge(int(5000 * scale), alphabet)
        yield Result(
            f"ROUGE-1/2/L/Lsum, 5,000 pairs of 50 words, {name}", seconds, "s", 1.0, "at most"
        )
    yield Result(
        "intervals, 5 models x 10,000 rows x 6 metrics", _intervals(scale), "s", 10.0, "at most"
    )


def _rouge(pairs: int, alphabet: str) -> float:
    draw = random.Random(0)
    words = ["".join(draw.choices(alphabet, k=draw.randint(2, 8))) for _ in range(3000)]

    def text() -> str:
        return " ".join(draw.choices(words, k=50))

    inputs = [MetricInput(str(n), 0, text(), (text(),)) for n in range(pairs)]
    metric = build_metrics([MetricSpec(name="rouge")])[0]
    metric.score(inputs[:10])
    started = time.perf_counter()
    metric.score(inputs)
    return time.perf_counter() - started


def _intervals(scale: float) -> float:
    draw = np.random.default_rng(0)
    matrices = [draw.random((int(10_000 * scale), 6)) for _ in range(5)]
    started = time.perf_counter()
    for matrix in matrices:
        mean_intervals(matrix, seed=0)
    return time.perf_counter() - started
