"""A host's side of a conversation, without a process."""

from __future__ import annotations

import asyncio

import pytest

from bakeoff.core.modelfacts import Capabilities, EngineInfo, ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import TokenChunk
from bakeoff.core.requests import GenerateRequest, Text
from bakeoff.engines.fake import FakeEngine, FakeScript
from bakeoff.engines.host.codec import Codec
from bakeoff.engines.host.methods import Opening
from bakeoff.engines.host.session import OPEN, Session
from bakeoff.engines.host.wire import MORE, WINDOW, Frame
from bakeoff.engines.options import EngineOptions

CODEC = Codec()
FACTS = ModelFacts(ModelRef.parse("fake://echo"), "i", Capabilities(kind="causal"))
REQUEST = CODEC.plain(GenerateRequest("a", Text("x")), GenerateRequest)


class Endless(FakeEngine):
    """Writes for ever; says how far it came, and whether it was closed."""

    made = 0
    left = False

    def __init__(self):
        super().__init__(FakeScript("echo"), FACTS.capabilities, 8, "")
        self.info = EngineInfo("endless", "1", "cpu", "none")

    async def stream(self, request):
        try:
            while True:
                self.made += 1
                yield TokenChunk(request.id, "x")
        finally:
            self.left = True

    async def encode(self, text):
        raise ZeroDivisionError(text)


class Conversation:
    def __init__(self, engine):
        self.sent = []
        self.engine = engine
        self.session = Session(self.sent.append, self._open)

    async def _open(self, name, facts, options, why):
        return self.engine

    async def opened(self):
        opening = CODEC.plain(Opening("endless", FACTS, EngineOptions()), Opening)
        self.session.take(Frame("call", 1, [OPEN, [opening]]))
        await turns()
        return self.sent.pop()


async def turns():
    """Time for everything that is ready."""
    for _ in range(3 * WINDOW):
        await asyncio.sleep(0)


def test_results_wait_until_somebody_reads_and_a_cancelled_call_closes_its_iterator():
    async def check():
        talk = Conversation(Endless())
        assert (await talk.opened()).body["info"]["name"] == "endless"
        talk.session.take(Frame("call", 2, ["stream", [REQUEST]]))
        await turns()
        assert talk.engine.made == WINDOW + 1
        assert len(talk.sent) == WINDOW
        talk.session.take(Frame("more", 2, MORE))
        await turns()
        assert len(talk.sent) == WINDOW + MORE
        talk.session.take(Frame("cancel", 2))
        await turns()
        assert talk.engine.left
        talk.session.take(Frame("more", 2, MORE))  # of a call that has ended
        await turns()
        assert len(talk.sent) == WINDOW + MORE
        await talk.session.close()

    asyncio.run(check())


def test_requests_are_asked_for_as_the_engine_takes_them():
    async def check():
        talk = Conversation(Endless())
        await talk.opened()
        talk.session.take(Frame("call", 2, ["complete", []]))
        await turns()
        assert talk.sent == [Frame("want", 2, WINDOW)]
        talk.session.take(Frame("requests", 2, [REQUEST] * WINDOW))
        await turns()
        wanted = [frame.body for frame in talk.sent if frame.kind == "want"]
        assert wanted == [WINDOW, MORE]
        talk.session.take(Frame("requests", 2, [REQUEST]))
        talk.session.take(Frame("end", 2))
        talk.session.take(Frame("more", 2, MORE))
        await turns()
        assert talk.sent[-1] == Frame("done", 2)
        assert sum(frame.kind == "items" for frame in talk.sent) == WINDOW + 1

    asyncio.run(check())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (["encode", ["zero"]], "ZeroDivisionError: zero"),
        (["no such", []], "KeyError"),
        (["encode", []], "ValueError"),
        (["read", [{"Nix": {}}, True]], "TypeError: a value is none of Text"),
        ("nix", "ValueError"),
    ],
)
def test_a_crash_is_told_and_harms_nobody(body, said, caplog):
    async def check():
        talk = Conversation(Endless())
        await talk.opened()
        talk.session.take(Frame("call", 2, body))
        talk.session.take(Frame("call", 3, ["decode", [[65]]]))
        await turns()
        ends = {frame.call: frame for frame in talk.sent}
        assert ends[3] == Frame("done", 3, "A")
        assert ends[2].kind == "error"
        assert ends[2].body["class"] == "EngineFailed"
        assert said in ends[2].body["fields"]["message"]
        assert "Traceback" in caplog.text

    asyncio.run(check())


def test_nothing_is_answered_before_a_model_is_open():
    async def check():
        talk = Conversation(Endless())
        talk.session.take(Frame("call", 1, ["encode", ["x"]]))
        await turns()
        assert talk.sent[-1].kind == "error"
        assert "no model" in talk.sent[-1].body["fields"]["message"]

    asyncio.run(check())
