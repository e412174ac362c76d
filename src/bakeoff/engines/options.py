"""`EngineOptions`: resources of an engine, as far as a user or a job sets them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an engine may use.

    Attributes:
        batch_tokens: most tokens (rows times longest row, prompt and answer) in one batch, or
            None for the engine's own choice.
        max_batch: most rows in one batch, or None for the engine's own choice.
        threads: CPU threads for computing, or None for the library's choice.
        prefix_bytes: most memory for the beginnings of earlier prompts, which are not computed
            again; 0 keeps none, None is the engine's own choice.
        stop_loops: how often a piece of text has to stand in a row for the text to be ended as
            one that loops, or None: texts go on.
    """

    batch_tokens: int | None = None
    max_batch: int | None = None
    threads: int | None = None
    prefix_bytes: int | None = None
    stop_loops: int | None = None
