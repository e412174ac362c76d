"""Benchmarks that need no model still run: a refactoring must not leave them behind."""

from __future__ import annotations

import pytest
from benchmarks import planning, resume


@pytest.mark.parametrize("benchmark", [planning, resume], ids=lambda module: module.__name__)
def test_a_benchmark_gives_its_figures(benchmark) -> None:
    results = list(benchmark.measure(1, 0.0005))
    assert results and all(result.value >= 0 for result in results)
