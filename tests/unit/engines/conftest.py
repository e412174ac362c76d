"""What tests of engines share; `llama` is each module's own engine."""

from __future__ import annotations

import pytest


@pytest.fixture
def steps(llama):
    """Counts forward passes of llama."""
    count = []
    handle = llama._worker.loaded.model.register_forward_hook(lambda *_: count.append(1))
    yield count
    handle.remove()
