"""Batches: nothing is lost, nothing is too large, like goes with like."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.core.errors import EngineFailed, OutOfMemory
from bakeoff.engines.batch.careful import Careful, Memory
from bakeoff.engines.batch.plan import Limits, plan, weight
from bakeoff.engines.transformers.memory import out_of_memory

pytestmark = pytest.mark.torch


@dataclass(frozen=True)
class Item:
    name: int
    length: int
    max_new: int = 10
    group: str = "a"
    lanes: int = 1


ITEMS = st.lists(
    st.builds(
        Item,
        name=st.integers(0, 10**9),
        length=st.integers(1, 400),
        max_new=st.sampled_from([0, 16, 64, 128]),
        group=st.sampled_from("ab"),
        lanes=st.sampled_from([1, 1, 4]),
    ),
    max_size=80,
    unique_by=lambda item: item.name,
)


@given(ITEMS, st.integers(1, 16), st.integers(100, 5000))
def test_every_row_once_in_batches_that_fit(items, rows, tokens):
    limits = Limits(rows, tokens)
    batches = plan(items, limits)
    assert sorted(i.name for b in batches for i in b) == sorted(i.name for i in items)
    for batch in batches:
        assert len({item.group for item in batch}) == 1
        assert limits.fits(batch)


def test_sorting_leaves_little_padding():
    items = [Item(n, 80 + (n * 37) % 320, 16 + (n * 53) % 112) for n in range(200)]
    batches = plan(items, Limits(16, 10**6))
    useful = sum(item.length + item.max_new for item in items)
    assert sum(weight(batch) for batch in batches) < 1.35 * useful
    assert len(batches) <= 17


MEMORY = Memory(out_of_memory, lambda: None)


def test_memory_halves_the_batch_and_goes_on():
    sizes = []

    def compute(part):
        sizes.append(len(part))
        if len(part) > 3:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")
        return [item.name for item in part]

    careful = Careful(Limits(16, 10**6), MEMORY)
    items = [Item(n, 10) for n in range(16)]
    assert careful.run(items, compute) == list(range(16))
    assert sizes == [16, 8, 4, 2, 2, 2, 2, 2, 2, 2, 2]
    sizes.clear()
    assert careful.run(items[:4], compute) == [0, 1, 2, 3]
    assert sizes == [2, 2]


@given(ITEMS, st.floats(0.0, 1.0))
def test_prompts_of_a_batch_are_as_alike_as_is_asked(items, spread):
    limits = Limits(16, 10**6, spread)
    batches = plan(items, limits)
    assert sorted(i.name for b in batches for i in b) == sorted(i.name for i in items)
    for batch in batches:
        lengths = [item.length for item in batch]
        allowed = max(8, spread * max(item.max_new for item in batch))
        assert max(lengths) - min(lengths) <= allowed
    assert limits.halved(items[:1] or [Item(1, 1)]).spread == spread


@given(ITEMS)
def test_kin_takes_the_place_of_the_group(items):
    careful = Careful(Limits(16, 10**6), MEMORY, kin=lambda item: item.length % 3)
    batches = careful.plan(items)
    assert sorted(i.name for b in batches for i in b) == sorted(i.name for i in items)
    for batch in batches:
        assert len({item.length % 3 for item in batch}) == 1


def test_one_row_without_memory_fails_alone():
    def compute(part):
        if any(item.name == 5 for item in part):
            raise MemoryError("no more")
        return [item.name for item in part]

    found = Careful(Limits(16, 10**6), MEMORY).run([Item(n, 10) for n in range(8)], compute)
    assert isinstance(found[5], OutOfMemory)
    assert [one for one in found if one is not found[5]] == [0, 1, 2, 3, 4, 6, 7]


def test_a_row_that_raises_fails_alone_and_tells_the_cause():
    def compute(part):
        if any(item.name == 2 for item in part):
            raise IndexError("index out of range in self")
        return [item.name for item in part]

    found = Careful(Limits(16, 10**6), MEMORY).run([Item(n, 10) for n in range(5)], compute)
    assert isinstance(found[2], EngineFailed)
    assert "IndexError: index out of range in self" in found[2].message
    assert [found[n] for n in (0, 1, 3, 4)] == [0, 1, 3, 4]
