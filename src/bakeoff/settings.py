"""Settings from the environment, read once by the composition root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    Attributes:
        runs: folder under which run folders are made (`BAKEOFF_RUNS`, default `runs`).
        threads: CPU threads for computing (`BAKEOFF_THREADS`), or None for the library's choice.
    """

    runs: Path = Path("runs")
    threads: int | None = None

    @classmethod
    def read(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read `environment`, by default the process's own; wrong numbers are ignored as unset."""
        env = os.environ if environment is None else environment
        threads = env.get("BAKEOFF_THREADS", "")
        return cls(
            runs=Path(env.get("BAKEOFF_RUNS") or "runs"),
            threads=int(threads) if threads.isdecimal() and int(threads) > 0 else None,
        )
