"""Names of runs without a spec: files of one name in several folders have a run folder each."""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from bakeoff.cli.plain import one_line
from bakeoff.core.errors import InvalidSpec
from bakeoff.jobs.data import SPOOL, local_path
from bakeoff.jobs.specfile import load_spec
from bakeoff.settings import Settings

_STREAM = "-"


def run_name(verb: str, data: str, model: str, runs: Path | None) -> str:
    """`evaluate-mails`, or `evaluate-mails-1f2e3d4c` where that folder is another file's run.

    The same data has the same name again. A name that had to be made longer is said on stderr.

    Args:
        verb: the command.
        data: as the command line has it.
        model: as the command line has it; empty without one.
        runs: folder of the run folders; default: that of the settings.

    Raises:
        BadDataset: `data` can be no name of a file.
    """
    folder = (runs or Settings.read().runs) / _plain(verb, data, model)
    mine, owner = _identity(data), _owner(folder)
    if owner in (None, mine):
        return folder.name
    digest = hashlib.sha256(mine.encode("utf-8", "surrogatepass")).hexdigest()
    name = f"{folder.name[:91]}-{digest[:8]}"
    whose = "standard input" if owner == _STREAM else owner
    text = f"{folder} holds the run of {whose}: this run is {folder.with_name(name)}"
    sys.stderr.write(f"{one_line(text)}\n")
    return name


def _plain(verb: str, data: str, model: str) -> str:
    parts = [verb, "stdin" if data == "-" else Path(data).stem]
    if model:
        parts.append(model.partition("?")[0].rstrip("/").rsplit("/", 1)[-1])
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(parts)).strip("-.")[:100]


def _identity(data: str) -> str:
    """The data set as a frozen spec names it; all streams are one."""
    path = local_path(data, Path.cwd())
    if path is None:
        return data
    return _STREAM if path.is_fifo() else str(path.resolve())


def _owner(folder: Path) -> str | None:
    """Whose run a folder holds; None where it holds none, or none that can be told."""
    try:
        path = load_spec(folder / "spec.yaml").dataset.path
    except InvalidSpec:
        return None
    return _STREAM if (folder / SPOOL).resolve() in Path(path).parents else path
