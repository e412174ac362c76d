"""`fake://NAME`: a deterministic engine without torch, for tests, docs and first tries.

`fake://echo` answers with its input, `fake://upper` in capitals, `fake://reverse` backwards,
`fake://words` with made-up words. One token is one UTF-8 byte. A query scripts faults:
`fake://echo?fail=2,5&delay=0.1&kind=causal&context=100`.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import (
    BakeoffError,
    EngineClosed,
    EngineFailed,
    InvalidRequest,
    OutOfMemory,
    PromptTooLong,
    TemplateFailed,
    UnsupportedOption,
)
from bakeoff.core.modelfacts import Capabilities, ChatFacts, EngineInfo, ModelFacts, TokenizerFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import (
    Completion,
    Failure,
    Labelled,
    Likelihood,
    Prediction,
    Span,
    Timing,
    TokenChunk,
    Usage,
    Vector,
)
from bakeoff.core.ports import Engine
from bakeoff.core.registry import unknown
from bakeoff.core.requests import (
    AnswerSpan,
    Classify,
    EngineRequest,
    GenerateRequest,
    Messages,
    PredictRequest,
    Prompt,
    ScoreRequest,
    Tokens,
    ZeroShot,
)
from bakeoff.engines.fakebytes import END, decoded, logprobs, piece, prompt_logprobs, told
from bakeoff.engines.grammar.whole import follows
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.pulling import pull

NAMES = ("echo", "reverse", "upper", "words")
_WORDS = ("amber", "brook", "cedar", "delta", "ember", "fjord", "grove", "heath", "iris", "jade")


@dataclass(frozen=True, slots=True)
class FakeScript:
    """What a fake does.

    Attributes:
        name: one of `NAMES`.
        kind: of model it pretends to be.
        context: tokens (bytes) that it reads, or None.
        fail: numbers (from 1) of the requests that fail, counted since it was opened.
        fail_text: requests whose prompt holds this text fail; empty for none.
        delay: seconds for each request.
        load: `ok`, or an error on opening: `missing`, `memory`.
        chat: whether it takes conversations.
        fim: whether it has fill-in-the-middle tokens.
        tools: in which form it calls tools, as `ChatFacts.tools` has it; empty for none.
    """

    name: str
    kind: Literal["causal", "seq2seq", "encoder"] = "causal"
    context: int | None = None
    fail: frozenset[int] = frozenset()
    fail_text: str = ""
    delay: float = 0.0
    load: str = "ok"
    chat: bool = True
    fim: bool = False
    tools: str = ""

    @classmethod
    def parse(cls, text: str) -> FakeScript:
        """Read `NAME?key=value&...`.

        Raises:
            UnknownName: a name or key that is not known, with near matches.
            InvalidRequest: a value that does not fit its key.
        """
        name, _, query = text.partition("?")
        if name not in NAMES:
            raise unknown("fake model", name, NAMES)
        said = dict(parse_qsl(query, keep_blank_values=True))
        for key in said:
            if key not in _KEYS:
                raise unknown("setting of a fake model", key, _KEYS)
        try:
            return _script(name, said)
        except ValueError as problem:
            raise InvalidRequest(f"fake://{text}: {problem}") from problem


_KEYS = ("chat", "context", "delay", "fail", "fail_text", "fim", "kind", "load", "tools")


def _script(name: str, said: dict[str, str]) -> FakeScript:
    kind = said.get("kind", "causal")
    if kind not in ("causal", "seq2seq", "encoder"):
        raise ValueError(f"kind is {kind!r}: write causal, seq2seq or encoder")
    if said.get("load", "ok") not in ("ok", "missing", "memory"):
        raise ValueError(f"load is {said['load']!r}: write ok, missing or memory")
    return FakeScript(
        name=name,
        kind=kind,  # type: ignore[arg-type]  # checked two lines above
        context=int(said["context"]) if "context" in said else None,
        fail=frozenset(int(n) for n in said.get("fail", "").split(",") if n),
        fail_text=said.get("fail_text", ""),
        delay=float(said.get("delay", "0")),
        load=said.get("load", "ok"),
        chat=said.get("chat", "1") != "0" and kind == "causal",
        fim=said.get("fim", "0") != "0" and kind == "causal",
        tools=said.get("tools", ""),
    )


def describe_fake(ref: ModelRef, hints: tuple[str, ...]) -> ModelFacts:
    """Facts of a fake model; `hints` are not used."""
    script = FakeScript.parse(ref.name)
    encoder = script.kind == "encoder"
    identity = f"fake:{script.name}:{script.kind}:{script.context}"
    capabilities = Capabilities(
        kind=script.kind,
        heads=frozenset({"answer-span", "classify", "pair-classify", "embed"})
        if encoder
        else frozenset(),
        context_length=script.context,
        chat_template=script.chat,
        likelihood=not encoder,
        embeddings=encoder,
        fim_tokens=script.fim,
        labels=("negative", "neutral", "positive") if encoder else (),
    )
    return ModelFacts(
        ref=ref,
        identity=identity,
        capabilities=capabilities,
        architecture="fake",
        chat=ChatFacts(tools=script.tools),
    )


async def open_fake(facts: ModelFacts, options: EngineOptions, why: str) -> Engine:
    """A fake engine; `options.max_batch` bounds how many requests it takes at once."""
    script = FakeScript.parse(facts.ref.name)
    if script.load == "memory":
        raise OutOfMemory(f"{facts.ref.uri} was told to run out of memory while loading")
    if script.load == "missing":
        raise EngineClosed(f"{facts.ref.uri} was told not to load")
    return FakeEngine(script, facts.capabilities, options.max_batch or 8, why)


class FakeEngine(Engine):
    """See the module's docstring."""

    def __init__(
        self, script: FakeScript, capabilities: Capabilities, batch: int, why: str
    ) -> None:
        self.capabilities = capabilities
        self.info = EngineInfo("fake", "1", "cpu", "none", why)
        self._script = script
        self._batch = batch
        self._count = 0
        self._closed = False
        self._aborted: set[str] = set()

    async def complete(
        self, requests: Iterable[GenerateRequest] | AsyncIterable[GenerateRequest]
    ) -> AsyncIterator[Completion | Failure]:
        """Batches of `max_batch`; the results of a batch come last request first."""
        async for batch in pull(requests, self._batch):
            if self._script.delay:
                await asyncio.sleep(self._script.delay)
            for request in reversed(batch):
                for outcome in self._answers(request, len(batch)):
                    yield outcome

    def _answers(self, request: GenerateRequest, company: int) -> list[Completion | Failure]:
        try:
            return [*self._made(request, company)]
        except BakeoffError as error:
            return [Failure.of(request.id, error)]

    def _made(self, request: GenerateRequest, company: int) -> list[Completion]:
        self._admit(request.id, _prompt_text(request.prompt))
        if isinstance(request.prompt, Messages):
            self._check_chat()
        refused = self.unsupported(request)
        if refused:
            raise UnsupportedOption(
                f"the fake engine cannot honour {', '.join(refused)}", option=refused[0]
            )
        return [self._one(request, c, company) for c in range(request.params.n or 1)]

    def _admit(self, request_id: str, text: str) -> None:
        if self._closed:
            raise EngineClosed("the engine was closed")
        self._count += 1
        if request_id in self._aborted:
            raise EngineClosed(f"request {request_id!r} was aborted")
        scripted = self._script.fail_text and self._script.fail_text in text
        if self._count in self._script.fail or scripted:
            raise EngineFailed(f"request {self._count} was told to fail")

    def _one(self, request: GenerateRequest, choice: int, company: int) -> Completion:
        started = time.monotonic()
        prompt, cut = self._fit(request)
        text = self._text(prompt, request, choice)
        if request.grammar is not None and not follows(text, request.grammar):
            raise UnsupportedOption("the fake engine's text has another form", option="grammar")
        ids, finish = _bounded(text, request)
        shown, stopped = _until_stop(bytes(i for i in ids if i < END), request.params.stop or ())
        usage = Usage(prompt=len(prompt.encode()), cut=cut, completion=len(ids))
        elapsed = time.monotonic() - started + self._script.delay
        return Completion(
            id=request.id,
            text=shown,
            finish=FinishReason.STOP if stopped else finish,
            token_ids=tuple(ids),
            usage=usage,
            timing=Timing(0.0, elapsed, elapsed),
            concurrency=company,
            choice=choice,
            logprobs=logprobs(prompt, ids, request.logprobs),
            prompt_logprobs=prompt_logprobs(prompt, request.prompt_logprobs),
        )

    def _fit(self, request: GenerateRequest) -> tuple[str, int]:
        text = _prompt_text(request.prompt)
        data = text.encode()
        limit = self._script.context
        if limit is None or len(data) <= limit:
            return text, 0
        if request.truncate == "refuse":
            raise PromptTooLong(len(data), limit, "set truncate: cut to drop what does not fit")
        kept = data[:limit].decode(errors="ignore")
        return kept, len(data) - len(kept.encode())

    def _text(self, prompt: str, request: GenerateRequest, choice: int) -> str:
        if self._script.name == "upper":
            return prompt.upper()
        if self._script.name == "reverse":
            return prompt[::-1]
        if self._script.name == "echo":
            return prompt
        seed = (request.params.seed or 0) if request.params.sampled else 0
        drawn = hashlib.sha256(f"{prompt}\0{seed}\0{choice}".encode()).digest()
        return " ".join(_WORDS[b % len(_WORDS)] for b in drawn[:12])

    async def stream(self, request: GenerateRequest) -> AsyncIterator[TokenChunk]:
        """One character a chunk, choice after choice."""
        for made in self._made(request, 1):
            begin = 0
            for character in made.text:
                await asyncio.sleep(self._script.delay / len(made.text))
                ids = tuple(character.encode())
                chunk = TokenChunk(request.id, character, ids, choice=made.choice)
                yield told(chunk, made, begin)
                begin += len(ids)
            last = TokenChunk(
                id=request.id,
                text="",
                token_ids=made.token_ids[begin:],
                finish=made.finish,
                usage=made.usage,
                choice=made.choice,
            )
            yield told(last, made, begin)

    async def score(
        self, requests: Iterable[ScoreRequest] | AsyncIterable[ScoreRequest]
    ) -> AsyncIterator[Likelihood | Failure]:
        """Each byte's log-probability hangs on what stands before it, through a hash."""
        async for batch in pull(requests, self._batch):
            for request in batch:
                try:
                    self._admit(request.id, _prompt_text(request.context))
                    yield _likelihood(request)
                except BakeoffError as error:
                    yield Failure.of(request.id, error)

    async def predict(
        self, requests: Iterable[PredictRequest] | AsyncIterable[PredictRequest]
    ) -> AsyncIterator[Prediction | Failure]:
        """The first word as the answer, hashed probabilities, a hashed vector."""
        async for batch in pull(requests, self._batch):
            if self._script.delay:
                await asyncio.sleep(self._script.delay)
            for request in batch:
                try:
                    self._admit(request.id, _ask_text(request))
                    value = _predicted(request, self.capabilities.labels)
                    yield Prediction(request.id, value, concurrency=len(batch))
                except BakeoffError as error:
                    yield Failure.of(request.id, error)

    def unsupported(self, request: EngineRequest) -> list[str]:
        """Adapters."""
        if not isinstance(request, GenerateRequest):
            return []
        return ["adapter"] if request.adapter is not None else []

    async def abort(self, request_id: str) -> None:
        """Fails the request if it has not begun."""
        self._aborted.add(request_id)

    async def encode(self, text: str) -> list[int]:
        """UTF-8 bytes."""
        return list(text.encode())

    async def decode(self, ids: Sequence[int]) -> str:
        """UTF-8 text; broken bytes become U+FFFD."""
        return decoded(ids)

    async def tokenizer(self) -> TokenizerFacts:
        """Bytes and the end."""
        return TokenizerFacts(vocabulary=END + 1, eos=piece(END))

    async def read(self, prompt: Prompt, *, special: bool = True) -> list[int]:
        """UTF-8 bytes; there are no special tokens to add."""
        if isinstance(prompt, Messages):
            self._check_chat()
        return list(_prompt_text(prompt).encode())

    async def render(self, prompt: Messages) -> str:
        """The last message, which is all that a fake reads of a conversation."""
        self._check_chat()
        return _prompt_text(prompt)

    def _check_chat(self) -> None:
        if not self._script.chat:
            raise TemplateFailed("this fake model takes no conversations: send text")

    async def pieces(self, ids: Sequence[int]) -> list[str]:
        """One byte each."""
        return [piece(token) for token in ids]

    async def fill(
        self, before: str, after: str, files: tuple[tuple[str, str], ...] = ()
    ) -> list[int]:
        """The two texts around a mark, behind other files."""
        if not self._script.fim:
            raise UnsupportedOption("this fake model has no fill-in-the-middle", option="suffix")
        ahead = "".join(f"--- {name} ---\n{text}\n" for name, text in files)
        return list(f"{ahead}{before}<FILL>{after}".encode())

    async def close(self) -> None:
        """Later requests fail."""
        self._closed = True


def _prompt_text(prompt: Prompt) -> str:
    if isinstance(prompt, Messages):
        return prompt.messages[-1].content
    if isinstance(prompt, Tokens):
        return decoded(prompt.ids)
    return prompt.text


def _ask_text(request: PredictRequest) -> str:
    return request.ask.context if isinstance(request.ask, AnswerSpan) else request.ask.text


def _bounded(text: str, request: GenerateRequest) -> tuple[list[int], FinishReason]:
    ids = [*text.encode(), END]
    limit = request.params.max_new_tokens
    banned = set(request.params.stop_ids or ())
    end = next((k for k, i in enumerate(ids) if i in banned), None)
    if end is not None and (limit is None or end < limit):
        return ids[:end], FinishReason.STOP
    if limit is not None and len(ids) > limit:
        return ids[:limit], FinishReason.LENGTH
    return ids, FinishReason.STOP


def _until_stop(data: bytes, stops: tuple[str, ...]) -> tuple[str, bool]:
    text = data.decode(errors="ignore")
    places = [p for s in stops if (p := text.find(s)) >= 0]
    return (text[: min(places)], True) if places else (text, False)


def _likelihood(request: ScoreRequest) -> Likelihood:
    if not request.continuation:
        raise InvalidRequest("the continuation is empty: there is nothing to score")
    before = _prompt_text(request.context)
    ids = tuple(request.continuation.encode())
    drawn = logprobs(before, ids, 1) or ()
    values, best = tuple(one.logprob for one in drawn), tuple(one.top[0][0] for one in drawn)
    usage = Usage(prompt=len(before.encode()), completion=len(ids))
    return Likelihood(request.id, ids, values, best, usage)


def _predicted(request: PredictRequest, labels: tuple[str, ...]) -> Span | Labelled | Vector:
    ask = request.ask
    if isinstance(ask, AnswerSpan):
        words = ask.context.split()
        start = ask.context.find(words[0]) if words else 0
        return Span(words[0] if words else "", start, start + len(words[0]) if words else 0, 0.5)
    if isinstance(ask, (Classify, ZeroShot)):
        names = ask.labels if isinstance(ask, ZeroShot) else labels
        drawn = hashlib.sha256(ask.text.encode()).digest()
        weights = [1 + drawn[k] for k in range(len(names))]
        shares = tuple((n, w / sum(weights)) for n, w in zip(names, weights, strict=True))
        return Labelled(max(shares, key=lambda pair: pair[1])[0], shares)
    drawn = hashlib.sha256(ask.text.encode()).digest()
    norm = sum(b * b for b in drawn[:8]) ** 0.5 or 1.0
    return Vector(tuple(b / norm for b in drawn[:8]))
