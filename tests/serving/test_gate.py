"""Places for requests, without a server."""

from __future__ import annotations

import asyncio
import random

import pytest

from bakeoff.core.errors import ServerBusy
from bakeoff.serving.admission import LANES, Gate


def test_never_more_run_than_there_are_places_whoever_leaves():
    async def crowd(seed):
        chance, gate, seen = random.Random(seed), Gate(3, 1000), []

        async def visit():
            async with gate.place(chance.choice(LANES)):
                seen.append(gate.running)
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)

        tasks = []
        for _ in range(200):
            tasks.append(asyncio.create_task(visit()))
            if chance.random() < 0.5:
                await asyncio.sleep(0)
            if chance.random() < 0.4:
                chance.choice(tasks).cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return max(seen), gate.running, gate.waiting

    for seed in range(20):
        assert asyncio.run(crowd(seed)) == (3, 0, 0)


def test_who_waits_longest_is_not_forgotten():
    async def crowd():
        gate, order = Gate(1, 1000), []

        async def visit(lane, name):
            async with gate.place(lane):
                order.append(name)

        async with gate.place("chat"):
            tasks = [asyncio.create_task(visit("batch", "patient"))]
            await asyncio.sleep(0)
            tasks += [asyncio.create_task(visit("edit", "hasty")) for _ in range(50)]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return order.index("patient")

    assert asyncio.run(crowd()) <= 4


def test_the_queue_has_an_end():
    async def crowd():
        gate = Gate(1, 1)
        async with gate.place("chat"):
            waiting = asyncio.create_task(gate._enter("chat"))
            await asyncio.sleep(0)
            with pytest.raises(ServerBusy, match="1 requests run and 1 wait"):
                await gate._enter("edit")
        await waiting

    asyncio.run(crowd())
