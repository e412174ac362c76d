"""New tokens a second: one request at a time and eight at once, on short and mixed prompts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bakeoff.core.outputs import Completion
from bakeoff.core.ports import Engine
from bakeoff.core.requests import GenerateRequest, GenerationParams, Prompt
from bakeoff.engines.doctor.diagnosis import Prompts, Speed
from bakeoff.engines.doctor.probes import LONG, NEW_TOKENS, SHORT

BATCHES = (1, 8)
_ALONE = 2
"""Requests that are timed one after the other; of mixed ones the second is long."""
TEXTS: dict[Prompts, tuple[str, ...]] = {
    "short": SHORT,
    "mixed": tuple(LONG[at] if at % 2 else text for at, text in enumerate(SHORT)),
}


async def measure(engine: Engine, prompts: dict[Prompts, Sequence[Prompt]]) -> tuple[Speed, ...]:
    """Time every kind of prompts at every batch size, after a warm-up that does not count.

    Every text is held to the same number of new tokens where the engine can do that.
    """
    await engine.generate(_requests(engine, prompts["short"][:1]))
    found = []
    for kind, texts in prompts.items():
        for batch in BATCHES:
            speed = await _timed(engine, kind, texts, batch)
            found += [speed] if speed is not None else []
    return tuple(found)


async def _timed(
    engine: Engine, kind: Prompts, texts: Sequence[Prompt], batch: int
) -> Speed | None:
    """None where no text came about."""
    asked = _requests(engine, texts[: max(batch, _ALONE)])
    rounds = [asked[at : at + batch] for at in range(0, len(asked), batch)]
    began, tokens = time.perf_counter(), 0
    for requests in rounds:
        made = await engine.generate(requests)
        tokens += sum(len(one.token_ids) for one in made if isinstance(one, Completion))
    seconds = time.perf_counter() - began
    return Speed(kind, batch, tokens / seconds, tokens, seconds) if tokens else None


def _requests(engine: Engine, prompts: Sequence[Prompt]) -> list[GenerateRequest]:
    """Texts of `NEW_TOKENS` tokens, or of at most as many."""
    held = GenerationParams(
        max_new_tokens=NEW_TOKENS, min_new_tokens=NEW_TOKENS, temperature=0.0, num_beams=1
    )
    free = GenerationParams(max_new_tokens=NEW_TOKENS, temperature=0.0, num_beams=1)
    requests = [GenerateRequest(f"speed-{at}", one, held) for at, one in enumerate(prompts)]
    if any(map(engine.unsupported, requests)):
        return [GenerateRequest(f"speed-{at}", one, free) for at, one in enumerate(prompts)]
    return requests
