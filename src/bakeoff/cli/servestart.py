"""What `bakeoff serve` is told on the command line becomes a server that runs."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bakeoff.cli.servecheck import examined
from bakeoff.cli.servemodels import Loading, Named, Opens, entries_of, is_named
from bakeoff.core.errors import InvalidRequest
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Engine
from bakeoff.engines import open_engine
from bakeoff.engines.host import open_hosted
from bakeoff.engines.options import EngineOptions
from bakeoff.serving.checkup import Checkup, Examiner
from bakeoff.serving.desk import Desk
from bakeoff.serving.models import Entry, Keep, ModelTable
from bakeoff.serving.options import ServeOptions
from bakeoff.serving.server import run
from bakeoff.settings import Settings

_UNITS = {"": 1, "B": 1} | {
    name: base**power
    for power, letter in enumerate("KMGT", 1)
    for name, base in ((letter, 1024), (f"{letter}B", 1000), (f"{letter}IB", 1024))
}
_IDLE = ("fake", "baseline")
_SIZE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*$")


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of `bakeoff serve`, under its own names; it says what each means."""

    models: list[str]
    host: str
    port: int
    name: list[str] | None
    api_key: list[str] | None
    api_key_file: Path | None
    no_auth: bool
    cors_origin: list[str] | None
    allowed_host: list[str] | None
    max_running: int
    max_queue: int
    deadline: float
    drain: float
    engine: str
    dtype: str
    device: str
    max_model_len: int | None
    load_in_4bit: bool
    load_in_8bit: bool
    adapter: list[str] | None
    option: list[str] | None
    threads: int | None
    log_prompts: bool
    pin: list[str] | None
    idle_unload: float
    max_memory: str | None
    share_cache: bool
    stop_loops: int | None
    check: bool
    in_process: bool | None

    def options(self) -> ServeOptions:
        """How the server listens.

        Raises:
            InvalidRequest: flags exclude each other, or the file of keys cannot be used.
        """
        return ServeOptions(
            host=self.host,
            port=self.port,
            keys=keys_of(self.api_key or (), self.api_key_file),
            no_auth=self.no_auth,
            origins=frozenset(self.cors_origin or ()),
            hosts=frozenset(one.lower() for one in self.allowed_host or ()),
            running=self.max_running,
            queue=self.max_queue,
            deadline=self.deadline or None,
            drain=self.drain,
            log_prompts=self.log_prompts,
            share_cache=self.share_cache,
        )

    def loading(self) -> Loading:
        """How models are loaded."""
        laid = tuple(one for one in self.adapter or () if not is_named(one))
        return Loading(
            values={
                "engine": self.engine,
                "torch_dtype": self.dtype,
                "accelerator": self.device,
                "load_in_4bit": self.load_in_4bit,
                "load_in_8bit": self.load_in_8bit,
                "adapter": laid or None,
            },
            options=tuple(self.option or ()),
            max_model_len=self.max_model_len,
            engine=EngineOptions(
                threads=self.threads or Settings.read().threads, stop_loops=self.stop_loops
            ),
            sized=self.max_memory is not None,
            opens=opens(self.in_process),
        )

    def named(self) -> Named:
        """What is said about models by their names."""
        return Named(
            names=tuple(self.name or ()),
            adapters=tuple(one for one in self.adapter or () if is_named(one)),
            pinned=tuple(self.pin or ()),
        )

    def keep(self) -> Keep:
        """How long models stay loaded.

        Raises:
            InvalidRequest: `--max-memory` is no size.
        """
        memory = None if self.max_memory is None else bytes_of(self.max_memory, "--max-memory")
        return Keep(self.idle_unload or None, memory)


def carry_out(flags: Flags) -> None:
    """Serve until a signal comes.

    Raises:
        BakeoffError: a flag is wrong, a model cannot be loaded, or the address cannot be bound.
    """
    options, keep = flags.options(), flags.keep()
    entries = entries_of(flags.models, flags.named(), flags.loading())
    checkup = Checkup(_examiners(entries) if flags.check else {})
    desk = Desk(ModelTable(entries, keep), options, checkup=checkup)
    start(desk, [name for one in entries for name in (one.name, *one.aliases)])


def opens(in_process: bool | None) -> Opens:
    """What loads models: here, or in processes of their own; unsaid, as it suits each."""
    if in_process is None:
        return _as_it_suits
    return open_engine if in_process else open_hosted


async def _as_it_suits(name: str, facts: ModelFacts, options: EngineOptions, why: str) -> Engine:
    """What computes nothing needs no process."""
    opener = open_engine if facts.ref.scheme in _IDLE else open_hosted
    return await opener(name, facts, options, why)


def keys_of(said: Sequence[str], file: Path | None) -> tuple[str, ...]:
    """All keys, from flags and file.

    Raises:
        InvalidRequest: the file holds none, cannot be read, or others may read it.
    """
    if file is None:
        return tuple(said)
    try:
        mode = file.stat().st_mode
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidRequest(f"--api-key-file {str(file)!r} cannot be read: {problem}") from problem
    if os.name == "posix" and stat.S_ISREG(mode) and mode & 0o077:
        raise InvalidRequest(
            f"--api-key-file {str(file)!r} has mode {stat.S_IMODE(mode):04o}: others on this "
            f"machine can reach the keys; type chmod 600 {file}"
        )
    found = tuple(line for line in lines if line and not line.startswith("#"))
    if not found:
        raise InvalidRequest(f"--api-key-file {str(file)!r} holds no key: write one a line")
    return (*said, *found)


def bytes_of(said: str, flag: str) -> int:
    """A size like `8GiB`, `500MB` or a number of bytes.

    Raises:
        InvalidRequest: it is none.
    """
    found = _SIZE.match(said)
    unit = _UNITS.get(found[2].upper()) if found else None
    if found is None or unit is None or not float(found[1]):
        raise InvalidRequest(f"{flag} {said!r} is no size: write for example 8GiB or 500MB")
    return int(float(found[1]) * unit)


def _examiners(entries: Sequence[Entry]) -> dict[str, Examiner]:
    """What looks at the files of each model that has some."""
    there = [one for one in entries if one.facts.ref.scheme in ("hf", "file")]
    return {one.name: partial(examined, one.facts.ref) for one in there}


def start(desk: Desk, names: Sequence[str]) -> None:
    """Serve until a signal comes; `names` are told when the first models are loaded.

    Raises:
        BakeoffError: a model cannot be loaded, or the address cannot be bound.
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s", force=True
    )
    logging.getLogger("bakeoff").setLevel(logging.INFO)

    def ready(address: str) -> None:
        sys.stderr.write(f"serving {', '.join(names)} at {address}; Ctrl-C stops\n")
        sys.stderr.flush()

    asyncio.run(run(desk, ready))
