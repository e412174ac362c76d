"""Engines are opened once for the whole suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bakeoff.core.ports import Engine
from tests.contract.targets import Target, run


@pytest.fixture(scope="session")
def opened() -> Iterator[Callable[[Target], Engine]]:
    """Open the engine of a target, or give the one that is open already."""
    engines: dict[Target, Engine] = {}

    def get(target: Target) -> Engine:
        if target not in engines:
            engines[target] = target.open()
        return engines[target]

    yield get
    for engine in engines.values():
        run(engine.close())
