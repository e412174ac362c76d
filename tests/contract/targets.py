"""The engines that the contract suite runs over, and how to ask each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import pytest

from bakeoff.core.errors import CallerError, UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion
from bakeoff.core.ports import Engine
from bakeoff.core.requests import (
    GenerateRequest,
    GenerationParams,
    Message,
    Messages,
    Prompt,
    Source,
    Text,
)
from bakeoff.engines import describe, open_engine
from bakeoff.engines.host import open_hosted
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.route import Needs, route
from tests import zoo
from tests.zoo import zoo_inputs, zoo_path

FAKE_WORDS = [
    "brook and brook, cedar; brook",
    "a fjord is a long inlet with steep sides, made by a glacier long ago",
    "naïve café — 東京 🎁 done",
    "delta",
    "ember ember ember grove heath iris jade amber brook cedar delta ember fjord grove",
]
GREEDY = GenerationParams(temperature=0.0, num_beams=1)


@dataclass(frozen=True)
class Target:
    """An engine under test; `name` is a fake model or a model of the zoo.

    Where `hosted`, it runs in a process of its own.
    """

    name: str
    engine: str = "transformers"
    hosted: bool = False

    @property
    def fake(self) -> bool:
        return self.name.startswith("fake://")

    @property
    def label(self) -> str:
        usual = self.fake or self.engine == "transformers"
        label = self.name if usual else f"{self.name}-{self.engine}"
        return f"{label}-hosted" if self.hosted else label

    def facts(self) -> ModelFacts:
        if self.fake:
            return describe(ModelRef.parse(self.name))
        return describe(ModelRef.parse(str(zoo_path(self.name)), engine=self.engine))

    def open(self, **options: Any) -> Engine:
        self.need()
        options.setdefault("threads", 1)
        engine = "fake" if self.fake else self.engine
        opener = open_hosted if self.hosted else open_engine
        return run(opener(engine, self.facts(), EngineOptions(**options)))

    @property
    def runs(self) -> bool:
        """Whether the engine takes this model at all."""
        try:
            return route(self.facts(), Needs(params=GREEDY)).engine == self.engine
        except CallerError:
            return False

    def need(self) -> None:
        """Skip the test where the engine needs what is not installed, and say what."""
        if self.engine == "openvino":
            try:
                route(self.facts(), Needs(params=GREEDY))
            except CallerError as error:
                pytest.skip(f"openvino cannot run: {error.message} (BAKEOFF_TEST_TOOLS)")

    def promises(self, request: GenerateRequest) -> bool:
        """Whether the text is said to be that of plain transformers."""
        try:
            taken = route(self.facts(), Needs.of(request))
        except UnsupportedOption:
            return False
        return taken.numerics in (None, "exact")

    def inputs(self, count: int) -> list[str]:
        if self.fake:
            return [FAKE_WORDS[i % len(FAKE_WORDS)] + " x" * (i // len(FAKE_WORDS))
                    for i in range(count)]  # fmt: skip
        return zoo_inputs(self.name, count)

    def prompt(self, text: str) -> Prompt:
        if self.name in zoo.CHATS:
            return Messages((Message("user", text),))
        return self.plain(text)

    def plain(self, text: str) -> Text | Source:
        """The prompt without a chat, with the languages where the model has to be told them."""
        tags = zoo.TRANSLATORS.get(self.name)
        return Source(text, tags["en"], tags["de"]) if tags else Text(text)

    def ask(self, text: str, name: str = "a", **settings: Any) -> GenerateRequest:
        settings.setdefault("max_new_tokens", 40)
        return GenerateRequest(name, self.prompt(text), GenerationParams(**settings))

    def requests(self, count: int, **settings: Any) -> list[GenerateRequest]:
        texts = self.inputs(count)
        return [self.ask(text, f"r{at}", **settings) for at, text in enumerate(texts)]


FAKES = [Target("fake://echo"), Target("fake://upper")]
CAUSAL = [Target(name) for name in zoo.CAUSAL]
SEQ2SEQ = [Target(name) for name in zoo.SEQ2SEQ if name != "dates-t5"]
ZOO = CAUSAL + SEQ2SEQ
NOT_CONVERTED = ("phi3",)
"""The converter overlooks that its positions turn in part; the engine finds out and refuses."""
CONVERTED = [
    one
    for one in (Target(one.name, "ctranslate2") for one in ZOO)
    if one.runs and one.name not in NOT_CONVERTED
]
EXPORTED = [
    one
    for one in (Target(one.name, "openvino") for one in CAUSAL)
    if one.name == "llama" or one.runs
]
"""The first stands there in any case, so that what is missing is told."""
SUITE = [*FAKES, *(Target(name) for name in ("llama", "gemma3", "bart") if name in zoo.NAMES)]
SUITE += [one for one in CONVERTED if Target(one.name) in SUITE]
HOSTED = [Target(name, hosted=True) for name in ("fake://echo", "llama", "bart")]
"""One of each kind: what is behind the socket is the same engine, tested by itself above."""
SUITE += [*HOSTED, EXPORTED[0]]


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine, in a loop of its own."""
    return asyncio.run(work)


async def collect(iterator: Any) -> list[Any]:
    """Everything that an async iterator gives."""
    return [item async for item in iterator]


def complete(engine: Engine, requests: Any) -> list[Any]:
    """Outcomes in the order in which they came."""
    return run(collect(engine.complete(requests)))


def texts(engine: Engine, requests: list[GenerateRequest]) -> list[str]:
    """Texts in the order of the requests."""
    found = run(engine.generate(requests))
    for outcome in found:
        assert isinstance(outcome, Completion), outcome
    return [outcome.text for outcome in found]


def streamed(engine: Engine, request: GenerateRequest) -> list[Any]:
    """The chunks of a request."""
    return run(collect(engine.stream(request)))
