"""What counts as equal, as a tie and as a difference."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.modelfacts import Capabilities, EngineInfo
from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion, Failure, Likelihood, Prediction, Vector
from bakeoff.core.requests import Text
from bakeoff.engines import describe
from bakeoff.engines.doctor.agreement import compare_predictions, compare_scores, compare_texts
from bakeoff.engines.doctor.diagnosis import EngineExam, Speed
from bakeoff.engines.doctor.engines import Course, examine, fastest_line
from bakeoff.engines.doctor.plain import PlainScore, PlainText, Reference
from bakeoff.engines.options import EngineOptions

pytestmark = pytest.mark.torch

END = 9
WIDE, NARROW = (1.0,) * 4, (1.0, 1e-6, 1.0, 1.0)


class Scripted:
    """An engine that answers from a table; in a batch it may answer otherwise."""

    capabilities = Capabilities(kind="causal")

    def __init__(self, answers, together=None):
        self.answers = answers
        self.together = together or answers

    closed = False

    async def close(self):
        self.closed = True

    def unsupported(self, request):
        return ["min_new_tokens"] if request.params.min_new_tokens else []

    def _of(self, requests):
        table = self.answers if len(requests) == 1 else self.together
        return [replace(table[int(one.id.split("-")[1])], id=one.id) for one in requests]

    async def generate(self, requests):
        return self._of(requests)

    async def score(self, requests):
        for one in self._of(requests):
            yield one

    predict = score


def text(ids, gaps=WIDE, least=0):
    return PlainText(Text("x"), tuple(ids), gaps[: len(ids)], False, usual=True, least=least)


def made(*ids):
    return Completion("", "", FinishReason.STOP, ids)


def reference(*texts, scores=(), dtype="float32"):
    return Reference(texts, scores, frozenset({END}), dtype)


def texts_of(engine, known):
    return asyncio.run(compare_texts(engine, known))


def test_equal_texts_count_alone_and_together():
    known = reference(text([1, 2, END]), text([3, END]))
    found = texts_of(Scripted([made(1, 2, END), made(3, END)]), known)
    assert (found.compared, found.equal, found.tokens, found.parted) == (4, 4, 10, "")
    assert found.holds


@pytest.mark.parametrize(
    ("ids", "gaps", "dtype", "said"),
    [
        ((1, 5, 3), WIDE, "float32", "from token 2 of 3"),
        ((1, 2), WIDE, "float32", "from token 3 of 3"),
        ((1, 2, 3, 4), WIDE, "float32", "from token 4 of 3"),
        ((1, 5, 3), NARROW, "float32", "tie"),
        ((1, 5, 3), (1.0, 0.2, 1.0), "float32", "from token 2 of 3"),
        ((1, 5, 3), (1.0, 0.2, 1.0), "bfloat16", "tie"),
        ((1, END), WIDE, "float32", "from token 2 of 3"),
    ],
)
def test_where_texts_part(ids, gaps, dtype, said):
    found = texts_of(Scripted([made(*ids)]), reference(text([1, 2, 3], gaps), dtype=dtype))
    if said == "tie":
        assert (found.ties, found.holds) == (2, True)
    else:
        assert (found.holds, found.parted) == (False, f"{said}, alone")


def test_a_text_that_ends_where_plain_transformers_runs_on_is_equal():
    assert texts_of(Scripted([made(1, END)]), reference(text([1, END, 2, 3]))).holds


def test_an_end_that_is_spelled_is_an_end_too():
    known = replace(reference(text([1, 2, 3])), spelled=True)
    assert texts_of(Scripted([made(1)]), known).holds
    assert not texts_of(Scripted([made(4)]), known).holds


def test_a_batch_that_changes_a_text_is_seen():
    engine = Scripted([made(1), made(2)], together=[made(1), made(3)])
    found = texts_of(engine, reference(text([1]), text([2])))
    assert (found.equal, found.compared) == (3, 4)
    assert found.parted == "from token 1 of 1, in a batch of 2"


def test_what_an_engine_cannot_honour_is_not_compared():
    found = texts_of(Scripted([made(1), made(7)]), reference(text([1]), text([2], least=1)))
    assert (found.compared, found.equal, found.tokens) == (2, 2, 2)


def test_a_failure_is_a_difference():
    failure = Failure("", "engine_failed", "no")
    assert "engine_failed" in texts_of(Scripted([failure]), reference(text([1]))).parted


@pytest.mark.parametrize(
    ("ids", "logprobs", "holds", "said"),
    [
        ((1, 2), (-1.0, -2.0005), True, ""),
        ((1, 2), (-1.0, -2.1), False, "by 0.1"),
        ((1, 3), (-1.0, -2.0), False, "other tokens are scored"),
        ((1, 2), (-1.0, float("nan")), False, "a number that is infinite or NaN"),
    ],
)
def test_log_probabilities(ids, logprobs, holds, said):
    score = PlainScore("a", " b", (1, 2), (-1.0, -2.0))
    engine = Scripted([Likelihood("", ids, logprobs, ids)])
    found = asyncio.run(compare_scores(engine, reference(scores=(score,))))
    assert (found.holds, found.parted) == (holds, said)


def test_an_encoder_that_hangs_on_its_batch_is_seen():
    alone = [Prediction("", Vector((1.0, 0.0))) for _ in range(5)]
    engine = Scripted(alone, together=[*alone[:4], Prediction("", Vector((0.9, 0.1)))])
    engine.capabilities = Capabilities(kind="encoder", heads=frozenset({"embed"}))
    found = asyncio.run(compare_predictions(engine, exact=True))
    assert (found.compared, found.equal, found.parted) == (5, 4, "by 0.1")
    assert asyncio.run(compare_predictions(Scripted(alone), exact=True)).holds


@pytest.mark.parametrize(
    ("ids", "dtype", "code", "level"),
    [
        ((1, 2, 3), "float32", "greedy", "ok"),
        ((1, 5, 3), "float32", "text-differs", "problem"),
        ((1, 5, 3), "int8", "greedy", "ok"),
    ],
)
def test_an_engine_that_writes_another_text_is_a_problem(monkeypatch, ids, dtype, code, level):
    engine = Scripted([made(*ids)])
    engine.info = EngineInfo("x", "1", "cpu", dtype)

    async def opened(name, facts, options, why):
        return engine

    monkeypatch.setattr("bakeoff.engines.doctor.engines.open_engine", opened)
    facts = describe(ModelRef.parse("fake://echo"))
    course = Course(facts, EngineOptions(), reference(text([1, 2, 3])), {})
    exam, lines = asyncio.run(examine(EngineExam("x", True, "named"), course))
    (line,) = [one for one in lines if "greedy" in one.what]
    assert (line.code, line.level) == (code, level)
    assert ("to be expected of int8" in line.value) == (dtype == "int8")
    assert (exam.greedy.compared, engine.closed) == (2, True)


def test_the_fastest_is_named_where_texts_are_right():
    def exam(name, rate, **more):
        return EngineExam(name, True, "", speeds=(Speed("short", 1, rate, 10, 1.0),), **more)

    (line,) = fastest_line([exam("a", 10.0), exam("b", 25.0)])
    assert line.value == "b 2.5x a (short, 1)"
    assert list(fastest_line([exam("a", 10.0)])) == []
