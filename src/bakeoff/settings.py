"""Settings from the environment, read once by the composition root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff.core.errors import InvalidRequest


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
        """Read `environment`, by default the process's own; blank is unset.

        Raises:
            InvalidRequest: `BAKEOFF_THREADS` is no number from 1 to 1024.
        """
        env = os.environ if environment is None else environment
        threads = env.get("BAKEOFF_THREADS", "").strip()
        if threads and not (threads.isdecimal() and 1 <= int(threads) <= 1024):
            raise InvalidRequest(f"BAKEOFF_THREADS is {threads!r}: it must be from 1 to 1024")
        return cls(
            runs=Path(env.get("BAKEOFF_RUNS", "").strip() or "runs"),
            threads=int(threads) if threads else None,
        )
