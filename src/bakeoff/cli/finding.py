"""Run folders as people name them."""

from __future__ import annotations

from pathlib import Path

from bakeoff.core.errors import RunNotFound
from bakeoff.core.registry import near_matches
from bakeoff.settings import Settings
from bakeoff.store.files.runfolder import RunFolder


def run_at(path: Path) -> RunFolder:
    """The run in a folder.

    Raises:
        RunNotFound: there is none; a run of that name where runs lie is named.
    """
    try:
        return RunFolder.existing(path)
    except RunNotFound as problem:
        runs = Settings.read().runs
        names = [spec.parent.name for spec in sorted(runs.glob("*/spec.yaml"))]
        near = [path.name] if path.name in names else near_matches(path.name, names)
        found = [runs / name for name in near if runs / name != path]
        if not found:
            raise
        raise RunNotFound(f"{path} holds no run; did you mean {found[0]}?") from problem
