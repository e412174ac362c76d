"""`Desk`: where requests of every wire format meet the engines; admission, deadline, counting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bakeoff.core.errors import (
    DeadlineExceeded,
    EngineClosed,
    InvalidRequest,
    PromptTooLong,
    ServerBusy,
    TemplateFailed,
    UnsupportedOption,
)
from bakeoff.core.outputs import Completion, Failure, Prediction, TokenChunk, Usage, Vector
from bakeoff.core.requests import Embed, GenerateRequest, Lane, PredictRequest
from bakeoff.engines.grammar.checking import Checker
from bakeoff.serving.admission import Gates
from bakeoff.serving.checkup import Checkup
from bakeoff.serving.log import LOG, printable
from bakeoff.serving.measures import Measures
from bakeoff.serving.models import Lease, ModelTable, Served, stopping
from bakeoff.serving.options import ServeOptions
from bakeoff.serving.problems import Refusal, problem_of, problem_of_failure, wire_name

T = TypeVar("T")
_FIELDS_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Ask:
    """What one HTTP request wants written.

    Attributes:
        served: by which model.
        requests: one for each prompt, all in one lane.
        prompt_field: the field of the body that holds the prompts.
        grammar_field: the one that says how the texts have to look, where one does.
    """

    served: Served
    requests: tuple[GenerateRequest, ...]
    prompt_field: str = "prompt"
    grammar_field: str = "response_format"

    @property
    def lane(self) -> Lane:
        """In which they wait."""
        return self.requests[0].lane

    @property
    def choices(self) -> int:
        """Texts for each prompt."""
        return self.requests[0].params.n or 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk of one of the texts.

    Attributes:
        index: of the text: prompt after prompt, choice after choice.
        chunk: as the engine gave it.
    """

    index: int
    chunk: TokenChunk


@dataclass
class Desk:
    """The state of a server.

    Attributes:
        models: that it serves.
        options: of its operator.
        grammars: finds out whether a grammar can be used.
        checkup: what was found of the models.
        gates: admit requests.
        measures: what `/metrics` shows.
        stopping: whether it takes no more requests.
    """

    models: ModelTable
    options: ServeOptions = field(default_factory=ServeOptions)
    grammars: Checker = field(default_factory=Checker)
    checkup: Checkup = field(default_factory=Checkup)

    def __post_init__(self) -> None:
        self.gates = Gates(self.options.running, self.options.queue)
        self.measures = Measures(self.gates, self.models)
        self.stopping = False
        self._running: set[asyncio.Timeout] = set()
        self._fields: set[str] = set()

    def new_fields(self, names: Sequence[str]) -> list[str]:
        """Those that no request had before; what is remembered is bounded."""
        if len(self._fields) > _FIELDS_KEPT:
            return []
        new = [name for name in names if name not in self._fields]
        self._fields.update(new)
        return new

    def cut(self) -> None:
        """End every request that still runs; each fails with `EngineClosed`."""
        self.stopping = True
        now = asyncio.get_running_loop().time()
        for limit in self._running:
            if not limit.expired():
                limit.reschedule(now)

    async def complete(self, ask: Ask) -> list[list[Completion]]:
        """The texts of each prompt, in the order of the choices.

        Raises:
            Refusal: a prompt failed; all of the request fails with it.
            BakeoffError: it was not admitted, or took too long.
        """
        texts: dict[str, list[Completion]] = {request.id: [] for request in ask.requests}
        self._note(ask)
        await self._check(ask)
        async with self._admitted(ask.served, ask.lane):
            async with closing(ask.served.engine.complete(ask.requests)) as outcomes:
                async for outcome in outcomes:
                    if isinstance(outcome, Failure):
                        self._heard(ask.served, outcome.code)
                        raise _refusal(ask, outcome)
                    texts[outcome.id].append(outcome)
        found = [sorted(texts[r.id], key=lambda one: one.choice) for r in ask.requests]
        for choices in found:
            for at, one in enumerate(choices):
                self.measures.used(ask.served.name, one.usage, texts=at == 0)
                if one.looped:
                    self.measures.looped(ask.served.name)
        return found

    async def stream(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        """Chunks of all texts as they come; closing it cancels them.

        Raises:
            BakeoffError: the request failed, was not admitted, or took too long.
        """
        began = last = time.perf_counter()
        name, first = ask.served.name, True
        self._note(ask)
        await self._check(ask)
        async with self._admitted(ask.served, ask.lane), aclosing(_merged(ask)) as pieces:
            async for piece in _naming(ask, pieces):
                now = time.perf_counter()
                if first:
                    self.measures.first(name, now - began)
                elif piece.chunk.text:
                    self.measures.between(name, now - last)
                if piece.chunk.usage is not None:
                    self.measures.used(name, piece.chunk.usage, texts=piece.chunk.choice == 0)
                if piece.chunk.looped:
                    self.measures.looped(name)
                first, last = False, now
                yield piece

    async def _check(self, ask: Ask) -> None:
        """Refuse a grammar before an engine sees it; all requests have the same."""
        grammar = ask.requests[0].grammar
        if grammar is None:
            return
        if "grammar" in ask.served.engine.unsupported(ask.requests[0]):
            raise UnsupportedOption(
                f"{ask.served.name} cannot be made to follow a grammar: leave {ask.grammar_field} "
                "out",
                option=ask.grammar_field,
            )
        async with self._limited():
            await self.grammars.check(grammar, ask.grammar_field)

    def _note(self, ask: Ask) -> None:
        if self.options.log_prompts:
            for request in ask.requests:
                LOG.info("prompt of %s: %s", request.id, printable(str(request.prompt), 2000))

    async def embed(
        self, served: Served, request_id: str, texts: Sequence[str]
    ) -> tuple[list[tuple[float, ...]], int]:
        """Vectors of texts, in their order, and the tokens that were read.

        Raises:
            UnsupportedOption: the model gives no vectors.
            InvalidRequest: there is no text, or too many.
            Refusal: a text failed; all fail with it.
        """
        if not served.engine.capabilities.embeddings:
            raise UnsupportedOption(
                f"{served.name} gives no vectors: ask an encoder model", option="model"
            )
        if not texts:
            raise InvalidRequest("input is an empty list: send a text", field="input")
        self.options.limits.count("input", texts, self.options.limits.prompts)
        requests = [
            PredictRequest(f"{request_id}-{at}", Embed(text)) for at, text in enumerate(texts)
        ]
        found: dict[str, Prediction] = {}
        async with self._admitted(served, "batch"):
            async with closing(served.engine.predict(requests)) as outcomes:
                async for outcome in outcomes:
                    if isinstance(outcome, Failure):
                        self._heard(served, outcome.code)
                        raise Refusal(problem_of_failure(outcome, "input"))
                    found[outcome.id] = outcome
        tokens = sum(one.usage.prompt for one in found.values())
        self.measures.used(served.name, Usage(prompt=tokens))
        values = [found[request.id].value for request in requests]
        return [one.values for one in values if isinstance(one, Vector)], tokens

    async def lease(self, name: str | None) -> Lease:
        """The model of that name, held until it is released; loaded first where it is not.

        Raises:
            BakeoffError: there is none, too many wait for models already, or it takes too long.
            Refusal: it cannot be loaded.
        """
        if self.models.waiting >= self.options.queue + self.options.running:
            raise ServerBusy(
                f"{self.models.waiting} requests wait for models to be loaded, which is the most "
                "this server takes: try again a little later"
            )
        async with self._limited():
            return await self.models.lease(name)

    @asynccontextmanager
    async def _admitted(self, served: Served, lane: Lane) -> AsyncIterator[None]:
        async with self._limited(), self.gates.of(served.name).place(lane):
            try:
                yield
            except EngineClosed as error:
                self._heard(served, error.code)
                raise

    def _heard(self, served: Served, code: str) -> None:
        """A request failed; where its engine has ended, the next one gets a new one."""
        if code == EngineClosed.code and not self.stopping:
            self.models.lost(served)

    @asynccontextmanager
    async def _limited(self) -> AsyncIterator[None]:
        """Ends by the server's deadline, or when it stops."""
        if self.stopping:
            raise stopping()
        limit = asyncio.timeout(self.options.deadline)
        try:
            async with limit:
                self._running.add(limit)
                yield
        except TimeoutError as error:
            if not limit.expired():
                raise
            if self.stopping:
                raise stopping() from error
            raise DeadlineExceeded(
                f"the request took longer than the server's {self.options.deadline:g} s: ask for "
                "fewer tokens"
            ) from error
        finally:
            self._running.discard(limit)


def total(usages: Sequence[Sequence[Usage]]) -> Usage:
    """Of all prompts, each counted once, and all texts."""
    firsts = [choices[0] for choices in usages if choices]
    return Usage(
        prompt=sum(one.prompt for one in firsts),
        cut=sum(one.cut for one in firsts),
        cached=sum(one.cached for one in firsts),
        completion=sum(one.completion for choices in usages for one in choices),
    )


async def _naming(ask: Ask, pieces: AsyncIterator[Piece]) -> AsyncIterator[Piece]:
    """The same pieces; what is wrong with a prompt names the field it came in."""
    try:
        async for piece in pieces:
            yield piece
    except (PromptTooLong, TemplateFailed) as error:
        raise Refusal(replace(problem_of(error), field=ask.prompt_field)) from error
    except UnsupportedOption as error:
        if error.option != "grammar":
            raise
        raise Refusal(replace(problem_of(error), field=ask.grammar_field)) from error


async def _merged(ask: Ask) -> AsyncGenerator[Piece, None]:
    """The chunks of every prompt, as they come."""
    if len(ask.requests) == 1:
        async with closing(ask.served.engine.stream(ask.requests[0])) as chunks:
            async for chunk in chunks:
                yield Piece(chunk.choice, chunk)
        return
    queue: asyncio.Queue[Piece | None] = asyncio.Queue()
    following = asyncio.create_task(_follow_all(ask, queue))
    following.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (piece := await queue.get()) is not None:
            yield piece
        await following
    finally:
        following.cancel()
        await asyncio.wait([following])


async def _follow_all(ask: Ask, queue: asyncio.Queue[Piece | None]) -> None:
    async def follow(at: int, request: GenerateRequest) -> None:
        async with closing(ask.served.engine.stream(request)) as chunks:
            async for chunk in chunks:
                queue.put_nowait(Piece(at * ask.choices + chunk.choice, chunk))

    try:
        async with asyncio.TaskGroup() as group:
            for at, request in enumerate(ask.requests):
                group.create_task(follow(at, request))
    except BaseExceptionGroup as errors:  # what ended the first text ends them all
        raise errors.exceptions[0] from None


@asynccontextmanager
async def closing(iterator: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Close an engine's iterator on leaving, which cancels what it still does."""
    try:
        yield iterator
    finally:
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()


def _refusal(ask: Ask, failure: Failure) -> Refusal:
    """The failure of one prompt, with the field that it is about."""
    at = next(at for at, one in enumerate(ask.requests) if one.id == failure.id)
    field = None
    if failure.code == UnsupportedOption.code:
        names = ask.served.engine.unsupported(ask.requests[at])
        field = wire_name(names[0]) if names else None
        if field is None and ask.requests[at].grammar is not None:
            field = ask.grammar_field  # it can be followed, but not with these tokens
    elif failure.code in (PromptTooLong.code, TemplateFailed.code):
        field = ask.prompt_field
    problem = problem_of_failure(failure, field)
    if len(ask.requests) > 1:
        problem = replace(problem, message=f"prompt {at}: {problem.message}")
    return Refusal(problem)
