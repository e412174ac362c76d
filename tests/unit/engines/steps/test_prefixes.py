"""Beginnings that were read before are not read again, and change no text."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from bakeoff.core.requests import GenerateRequest, GenerationParams, Tokens
from bakeoff.engines.steps.prefixes import Prefixes
from tests.contract.targets import Target
from tests.support import scale
from tests.unit.engines.steps.driven import Driven

LLAMA = Target("llama")


def blocks(prefixes: Prefixes[str], ids: list[int], scope: str = "") -> None:
    prefixes.keep(scope, ids, lambda begin, end: f"{ids[0]}:{begin}-{end}")


def test_whole_blocks_are_found_behind_the_same_tokens_alone():
    prefixes: Prefixes[str] = Prefixes(1000, len, block=4)
    blocks(prefixes, [1, 2, 3, 4, 5, 6, 7, 8, 9])
    assert prefixes.find("", [1, 2, 3, 4, 5, 6, 7, 8, 0]) == ["1:0-4", "1:4-8"]
    assert prefixes.find("", [1, 2, 3, 4, 5, 6, 7]) == ["1:0-4"]
    assert prefixes.find("", [5, 6, 7, 8]) == []
    assert prefixes.find("", [0, 2, 3, 4, 5, 6, 7, 8]) == []
    assert prefixes.find("another", [1, 2, 3, 4]) == []


def test_the_block_used_longest_ago_goes_first_and_never_before_those_behind_it():
    prefixes: Prefixes[str] = Prefixes(4 * 5, len, block=4)
    blocks(prefixes, [1] * 8)
    blocks(prefixes, [2] * 8)
    assert prefixes.find("", [1] * 8)
    blocks(prefixes, [3] * 8)
    assert prefixes.used <= 4 * 5
    assert len(prefixes.find("", [3] * 8)) == 2
    assert len(prefixes.find("", [1] * 8)) == 2
    assert not prefixes.find("", [2] * 8)


def test_no_memory_keeps_nothing():
    prefixes: Prefixes[str] = Prefixes(0, len, block=4)
    blocks(prefixes, [1] * 8)
    assert prefixes.used == 0
    assert not prefixes.find("", [1] * 8)


@pytest.fixture(scope="module")
def models():
    return Driven(LLAMA), Driven(LLAMA, {"prefix_bytes": 0})


def ask(ids: list[int], name: str, new: int = 12, scope: str = "") -> GenerateRequest:
    params = GenerationParams(max_new_tokens=new, temperature=0.0)
    return GenerateRequest(name, Tokens(tuple(ids)), params, cache_scope=scope)


def random_ids(draw: random.Random, count: int) -> list[int]:
    return [draw.randrange(10, 200) for _ in range(count)]


@pytest.mark.torch
def test_random_shared_prefixes_change_no_text_and_save_what_they_say(models):
    kept, plain = models
    draw = random.Random(7)
    texts = ["naïve café — 東京 🎁 done, 3 lamps and a brush ", "the ring; 二つの輪 🎈 "]
    pools = [kept.worker.encode(text * 6) for text in texts]
    pools += [random_ids(draw, 150) for _ in range(4)]
    kept.paced(rows=4)
    saved = 0
    for at in range(scale(200)):
        pool = draw.choice(pools)
        begin = pool[: draw.randint(1, len(pool))]  # may end inside a character
        request = ask(begin + random_ids(draw, draw.randint(0, 8)), f"p{at}")
        before = kept.model.forwarded, plain.model.forwarded
        (found,), (wanted,) = kept.loop([request]), plain.loop([request])
        assert found.token_ids == wanted.token_ids
        assert found.text == wanted.text
        did = kept.model.forwarded - before[0]
        assert plain.model.forwarded - before[1] - did == found.usage.cached
        assert wanted.usage.cached == 0
        saved += found.usage.cached
    assert saved > 0


@pytest.mark.torch
def test_a_conversation_does_not_read_its_own_beginning_again(models):
    kept, plain = models
    ids = random_ids(random.Random(11), 100)
    (first,) = kept.loop([ask(ids, "one", new=40)])
    longer = [*ids, *first.token_ids, *random_ids(random.Random(12), 5)]
    (second,) = kept.loop([ask(longer, "two")])
    assert second.usage.cached >= len(ids) + len(first.token_ids) - 33
    assert second.token_ids == plain.loop([ask(longer, "two")])[0].token_ids


@pytest.mark.torch
def test_what_an_aborted_request_read_is_kept(models):
    kept, _ = models
    ids = random_ids(random.Random(13), 160)
    kept.paced(gulp=64)
    kept.add(ask(ids, "gone"))
    kept.scheduler.turn()
    kept.control.abort("gone")
    kept.scheduler.turn()
    (found,) = kept.loop([ask([*ids, 20, 21], "next")])
    assert found.usage.cached == 64


@pytest.mark.torch
def test_scopes_share_nothing(models):
    kept, _ = models
    ids = random_ids(random.Random(17), 100)
    kept.loop([ask(ids, "a", scope="one")])
    assert kept.loop([ask(ids, "b", scope="two")])[0].usage.cached == 0
    assert kept.loop([replace(ask(ids, "c", scope="one"))])[0].usage.cached == 96
