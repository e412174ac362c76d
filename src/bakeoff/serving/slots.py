"""`Slot`: one model of a server: loaded once however many ask, held while requests run.

On one event loop only. `bakeoff.serving.keeper` decides what is loaded and unloaded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from bakeoff.core.modelfacts import ModelFacts, TokenizerFacts
from bakeoff.core.ports import Engine

Opener = Callable[[], Awaitable[Engine]]
Describer = Callable[[tuple[str, ...]], ModelFacts]
_NAMES_KEPT = 2**16
_TASKS_KEPT = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """A model that is to be served.

    Attributes:
        name: under which it is served.
        facts: known before it is loaded.
        opener: loads it.
        describer: describes it for a task, by the keys that its checkpoint may have for that.
        aliases: further names.
        pinned: whether it is loaded at the start and never unloaded.
        bytes: what it takes in memory, roughly; 0 where that is not known.
    """

    name: str
    facts: ModelFacts
    opener: Opener
    describer: Describer
    aliases: tuple[str, ...] = ()
    pinned: bool = False
    bytes: int = 0


@dataclass(frozen=True)
class Served:
    """A loaded model.

    Attributes:
        name: under which it is served.
        facts: known before it was loaded.
        engine: runs it.
        tokenizer: what clients ask of it.
        describer: as in `Entry`.
        created: when it was loaded, in seconds since 1970.
    """

    name: str
    facts: ModelFacts
    engine: Engine
    tokenizer: TokenizerFacts
    describer: Describer
    created: int
    _pieces: dict[int, str] = field(default_factory=dict, repr=False)
    _tasks: dict[tuple[str, ...], ModelFacts] = field(default_factory=dict, repr=False)

    @classmethod
    async def of(cls, entry: Entry) -> Served:
        """Load it.

        Raises:
            ModelError: it cannot be loaded.
        """
        engine = await entry.opener()
        return cls(
            name=entry.name,
            facts=entry.facts,
            engine=engine,
            tokenizer=await engine.tokenizer(),
            describer=entry.describer,
            created=int(time.time()),
        )

    @property
    def window(self) -> int | None:
        """Most tokens it reads, or None."""
        return self.engine.capabilities.context_length

    @property
    def generates(self) -> bool:
        """Whether it writes text."""
        return self.engine.capabilities.kind != "encoder"

    @property
    def fingerprint(self) -> str:
        """What computes: changes where texts may change."""
        info = self.engine.info
        return f"{info.name}-{info.version}-{info.dtype}".replace(" ", "-")

    def described(self, hints: tuple[str, ...]) -> ModelFacts:
        """The facts for a task; reads files the first time."""
        found = self._tasks.get(hints)
        if found is None:
            if len(self._tasks) > _TASKS_KEPT:  # clients choose the languages
                self._tasks.clear()
            found = self._tasks[hints] = self.describer(hints)
        return found

    async def pieces(self, ids: set[int]) -> Mapping[int, str]:
        """The text of each of these tokens; asked of the engine once."""
        if len(self._pieces) > _NAMES_KEPT:
            self._pieces.clear()
        known = {token: self._pieces[token] for token in ids if token in self._pieces}
        new = sorted(ids - known.keys())
        if not new:
            return known
        asked = dict(zip(new, await self.engine.pieces(new), strict=True))
        self._pieces.update(asked)
        return known | asked


@dataclass(eq=False)
class Slot:
    """The place of one model.

    Attributes:
        entry: the model.
        served: it, while it is loaded.
        users: requests that hold it.
        used: when the last of them let go, by the clock of `Keep`.
        starting: whether the server loads it before it takes requests.
        leaving: whether it is unloaded as soon as nobody holds it.
        loading: the task that loads it, or None.
        loads: whether that task has its turn.
        fault: why it could not be loaded, and until when that is told without another try.
    """

    entry: Entry
    served: Served | None = None
    users: int = 0
    used: float = 0.0
    starting: bool = False
    leaving: bool = False
    loading: asyncio.Task[None] | None = None
    loads: bool = False
    fault: tuple[Exception, float] | None = None
    _turns: list[asyncio.Future[Served]] = field(default_factory=list)
    _free: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def ready(self) -> bool:
        """Whether it can be held at once."""
        return self.served is not None and not self.leaving

    @property
    def idle(self) -> bool:
        """Whether it could be unloaded now."""
        return self.ready and not self.users and not self.entry.pinned

    @property
    def state(self) -> str:
        """`loaded`, `loading`, `failed` or `unloaded`."""
        if self.ready:
            return "loaded"
        if self.loading is not None or self.starting:
            return "loading"
        return "unloaded" if self.fault is None else "failed"

    @property
    def waiting(self) -> int:
        """Requests that wait until it is loaded."""
        return len(self._turns)

    def hold(self) -> Served:
        """Hold a model that is ready."""
        assert self.served is not None
        self.users += 1
        return self.served

    async def wait(self) -> Served:
        """Hold it once it is loaded; `admit` and `fail` end the wait.

        Raises:
            Exception: why it could not be loaded.
        """
        turn: asyncio.Future[Served] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.users -= 1  # it was let in at the same moment
            raise
        finally:
            if turn in self._turns:
                self._turns.remove(turn)

    def let_go(self, at: float) -> None:
        """One request fewer holds it."""
        self.users -= 1
        self.used = at
        if not self.users:
            self._free.set()

    def admit(self, served: Served, at: float) -> None:
        """It is loaded; everyone who waits holds it from now on, so that none has to come again."""
        self.served, self.used, self.fault = served, at, None
        for turn in self._turns:
            if not turn.done():
                self.users += 1
                turn.set_result(served)
        self._turns = []

    def fail(self, error: Exception, until: float) -> None:
        """It cannot be loaded; those who wait are told."""
        self.fault = (error, until)
        for turn in self._turns:
            if not turn.done():
                turn.set_exception(error)
        self._turns = []

    async def unload(self) -> None:
        """Close it once nobody holds it; who comes meanwhile waits for the next load."""
        self.leaving = True
        try:
            while self.users:
                self._free.clear()
                await self._free.wait()
            served, self.served = self.served, None
            if served is not None:
                await served.engine.close()
        finally:
            self.leaving = False
