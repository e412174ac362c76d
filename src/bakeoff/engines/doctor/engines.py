"""Each engine opened in turn: compared with plain transformers, and timed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bakeoff.core.errors import BakeoffError, ModelLoadFailed, OutOfMemory
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import Engine
from bakeoff.core.requests import GenerateRequest, Prompt, ScoreRequest, Text
from bakeoff.engines import open_engine
from bakeoff.engines.doctor.agreement import (
    GREEDY,
    compare_predictions,
    compare_scores,
    compare_texts,
)
from bakeoff.engines.doctor.diagnosis import Agreement, EngineExam, Finding, Prompts, Speed
from bakeoff.engines.doctor.plain import Reference
from bakeoff.engines.doctor.speed import measure
from bakeoff.engines.options import EngineOptions


@dataclass(frozen=True)
class Course:
    """What engines are put through.

    Attributes:
        facts: of the model.
        options: for the engines.
        reference: what they are compared with, or None where there is nothing to compare.
        prompts: what they are timed on; empty: not timed.
        replaceable: whether another engine takes the place of one that does not fit into memory, or
            refuses the model for what its conversion computes.
    """

    facts: ModelFacts
    options: EngineOptions
    reference: Reference | None
    prompts: dict[Prompts, Sequence[Prompt]]
    replaceable: bool = False


async def examine(exam: EngineExam, course: Course) -> tuple[EngineExam, list[Finding]]:
    """Open an engine, put it through the course, and close it."""
    try:
        done = await _put_through(exam, course)
    except (OutOfMemory, ModelLoadFailed) as error:
        if not course.replaceable:
            return exam, [_fails(exam, error)]
        value = f"cannot run it here: {one_line(error)}"
        less = replace(exam, able=False, why=error.message)
        return less, [Finding("engine", "ok", f"engine {exam.name}", value)]
    except Exception as error:  # an engine that raises anything is what is looked for here
        return exam, [_fails(exam, error)]
    same = course.reference is None or course.reference.dtype == done.dtype
    return done, list(_lines(done, same))


async def _put_through(exam: EngineExam, course: Course) -> EngineExam:
    named = replace(course.facts, ref=course.facts.ref.model_copy(update={"engine": exam.name}))
    began = time.perf_counter()
    engine = await open_engine(exam.name, named, course.options, exam.why)
    try:
        done = replace(
            exam,
            version=engine.info.version,
            device=engine.info.device,
            dtype=engine.info.dtype,
            load_s=time.perf_counter() - began,
        )
        done = await _compared(engine, done, course.reference)
        if course.prompts and engine.capabilities.kind != "encoder":
            done = replace(done, speeds=await measure(engine, course.prompts))
        return done
    finally:
        await engine.close()


def one_line(error: Exception) -> str:
    """What an error says; of one that bakeoff did not raise on purpose also its kind."""
    said = error.message if isinstance(error, BakeoffError) else f"{type(error).__name__}: {error}"
    return " ".join(said.split())


async def _compared(engine: Engine, exam: EngineExam, reference: Reference | None) -> EngineExam:
    if engine.capabilities.kind == "encoder":
        exact = engine.info.dtype == "float32"
        return replace(exam, prediction=await compare_predictions(engine, exact))
    if reference is None:
        return exam
    texts = reference.texts
    if texts and not engine.unsupported(GenerateRequest("asked", texts[0].prompt, GREEDY)):
        exam = replace(exam, greedy=await compare_texts(engine, reference))
    scores = engine.capabilities.likelihood and reference.scores
    if scores and not engine.unsupported(ScoreRequest("asked", Text("a"), " b")):
        exam = replace(exam, likelihood=await compare_scores(engine, reference))
    return exam


def _fails(exam: EngineExam, error: Exception) -> Finding:
    advice = "name another engine by `engine:`, or correct what the message says"
    return Finding("engine-fails", "problem", f"engine {exam.name}", one_line(error), advice)


def _lines(exam: EngineExam, same: bool) -> Iterator[Finding]:
    """What came out; `same`: whether engine and reference compute in one precision."""
    how = f"{exam.version}, {exam.dtype} on {exam.device}, loaded in {exam.load_s or 0:.1f} s"
    yield Finding("engine", "ok", f"engine {exam.name}", how)
    for name, code, what, found in (
        ("greedy", "text-differs", "greedy text", exam.greedy),
        ("likelihood", "logprobs-differ", "log-probabilities", exam.likelihood),
        ("prediction", "depends-on-batch", "answers", exam.prediction),
    ):
        if found is not None:
            line = _agreement(f"{exam.name}: {what}", (name, code), found)
            yield line if same else _expected(line, name, exam)
    for speed in exam.speeds:
        what = f"{exam.name}: {speed.prompts} prompts"
        many = "one request" if speed.batch == 1 else f"{speed.batch} requests at once"
        value = f"{speed.tokens_per_s:.1f} tokens/s, {many}"
        yield Finding("speed", "ok", what, value)


def _agreement(what: str, codes: tuple[str, str], found: Agreement) -> Finding:
    ok, fault = codes
    other = "that in a batch" if ok == "prediction" else "plain transformers"
    count = f"{found.equal} of {found.compared} equal {other}"
    more = [f"{found.tokens} tokens"] if found.tokens else []
    more += [f"at most {found.worst:.1e} apart"] if found.worst is not None else []
    more += [f"{found.ties} ties"] if found.ties else []
    value = f"{count} ({', '.join(more)})" if more else count
    if found.holds:
        return Finding(ok, "ok", what, value)
    advice = "do not use this engine for this model, and report it: it is a fault of the engine"
    return Finding(fault, "problem", what, f"{value}; the first parts {found.parted}", advice)


def _expected(line: Finding, code: str, exam: EngineExam) -> Finding:
    """Another precision was asked for: that its texts are others is no fault."""
    if line.level == "ok":
        return line
    value = f"{line.value} (to be expected of {exam.dtype})"
    return replace(line, code=code, level="ok", value=value, advice="")


def fastest_line(exams: Sequence[EngineExam]) -> Iterator[Finding]:
    """Which of several engines was the fastest at what; those whose texts differ do not count."""
    right = [exam for exam in exams if exam.speeds and (exam.greedy is None or exam.greedy.holds)]
    if len(right) < 2:
        return
    said, data = [], []
    for place in right[0].speeds:
        rates = {exam.name: _rate(exam, place) for exam in right}
        ordered = sorted(rates, key=lambda name: -rates[name])
        ratio = rates[ordered[0]] / max(rates[ordered[1]], 1e-9)
        said.append(f"{ordered[0]} {ratio:.1f}x {ordered[1]} ({place.prompts}, {place.batch})")
        data.append({"prompts": place.prompts, "batch": place.batch, "engine": ordered[0],
                     "ratio": ratio})  # fmt: skip
    yield Finding("fastest", "ok", "fastest", "; ".join(said), data=data)


def _rate(exam: EngineExam, place: Speed) -> float:
    found = (one for one in exam.speeds if (one.prompts, one.batch) == (place.prompts, place.batch))
    return next((one.tokens_per_s for one in found), 0.0)
