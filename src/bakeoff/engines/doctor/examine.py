"""`diagnose`: the checks in order, on the files, on the loaded model, on every engine."""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch

from bakeoff._version import __version__
from bakeoff.core.errors import BakeoffError, ModelError
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import ModelRef
from bakeoff.core.requests import Message, Messages, Prompt, Text
from bakeoff.core.rows import Notice
from bakeoff.engines import describe
from bakeoff.engines.doctor import about, memory, routing
from bakeoff.engines.doctor.chart import Chart, read_chart
from bakeoff.engines.doctor.diagnosis import Diagnosis, Finding, Prompts, replaced, worst
from bakeoff.engines.doctor.engines import Course, examine, fastest_line, one_line
from bakeoff.engines.doctor.plain import Plain, Reference
from bakeoff.engines.doctor.registry import FILES, FILES_ORDER, LOADED, LOADED_ORDER
from bakeoff.engines.doctor.speed import TEXTS
from bakeoff.engines.options import EngineOptions
from bakeoff.engines.transformers.conversion import convert
from bakeoff.engines.transformers.files import locate

Say = Callable[[str], None]
Subject = TypeVar("Subject", Chart, Plain)
FATAL = frozenset({"load-failed", "weights-not-finite", "logits-not-finite", "memory-too-small"})
"""Faults after which nothing that the model answers means anything."""
_LIBRARIES = ("transformers", "torch", "tokenizers", "ctranslate2")


@dataclass(frozen=True, slots=True)
class DoctorOptions:
    """How much is looked at.

    Attributes:
        load: whether the weights are loaded; else the files alone are looked at.
        speed: whether engines are timed.
        engine: resources for the engines.
    """

    load: bool = True
    speed: bool = True
    engine: EngineOptions = field(default_factory=EngineOptions)


def _silent(stage: str) -> None:
    """Say nothing."""


def diagnose(ref: ModelRef, options: DoctorOptions | None = None, say: Say = _silent) -> Diagnosis:
    """Look at a model from its files to its speed; blocks, so call it on no event loop.

    Args:
        ref: the model.
        options: how much is looked at; default everything.
        say: is told what is done next.

    Raises:
        ModelError: the model does not exist or may not be read.
        UnsupportedOption: an option or architecture that is not supported.
        DependencyMissing: an option needs an optional part.
    """
    say("reading the files")
    visit = _Visit(describe(ref), options or DoctorOptions(), say)
    visit.look_at_files()
    if visit.options.load and visit.going_on:
        visit.look_at_model()
    visit.findings += about.route_lines(visit.routes, routing.chosen(visit.facts))
    visit.findings += about.engine_lines(visit.exams, opened=visit.options.load)
    if visit.options.load and visit.going_on:
        asyncio.run(visit.look_at_engines())
    return visit.diagnosis()


@dataclass
class _Visit:
    """One examination, as far as it has come."""

    facts: ModelFacts
    options: DoctorOptions
    say: Say
    findings: list[Finding] = field(default_factory=list)
    chart: Chart | None = None
    reference: Reference | None = None
    prompts: dict[Prompts, Sequence[Prompt]] = field(default_factory=dict)
    loaded: bool = False

    def __post_init__(self) -> None:
        self.routes = tuple(routing.routes(self.facts))
        self.exams = list(routing.able(self.facts))

    @property
    def going_on(self) -> bool:
        """Whether what comes next would mean anything."""
        return not any(one.code in FATAL and one.level == "problem" for one in self.findings)

    def look_at_files(self) -> None:
        """Configuration, tokenizer, headers; the weights are fetched where they will be loaded."""
        self.findings += about.facts_lines(self.facts)
        self.findings += memory.check(self.facts)
        try:
            self.chart, notices = self._chart(fetched=self.options.load and self.going_on)
        except ModelError as error:
            self.findings += about.notice_lines(self.facts.notices, checked=False)
            self.findings.append(_unloadable(error))
            return
        chart = self.chart
        self.findings += about.notice_lines((*self.facts.notices, *notices), chart is not None)
        if chart is None:
            return
        for name in FILES_ORDER:
            self.findings += _carried_out(name, FILES.get(name), chart)

    def look_at_model(self) -> None:
        """The model as plain transformers loads and runs it; it is out of memory afterwards."""
        if self.chart is None:
            self.prompts = {kind: [_prompt(self.facts, t) for t in texts]
                            for kind, texts in TEXTS.items()}  # fmt: skip
            return
        self.say("loading the model with plain transformers")
        try:
            plain = Plain.load(self.chart, self.options.engine)
        except BakeoffError as error:
            self.findings = replaced(self.findings, [_unloadable(error)])
            return
        self.loaded = True
        found = list(about.notice_lines(plain.loaded.notices, checked=True))
        for name in LOADED_ORDER:
            found += _carried_out(name, LOADED.get(name), plain)
            if any(one.code in FATAL for one in found):
                break
        self.findings = replaced(self.findings, found)
        if self.going_on and self.chart.generates:
            self._ask(plain)
        plain.loaded.held.close()
        del plain
        _give_back()

    def _ask(self, plain: Plain) -> None:
        self.say("asking plain transformers")
        try:
            self.reference = plain.reference
        except Exception as error:  # whatever the library raises on ordinary text
            self.findings = [one for one in self.findings if one.what != "check prompts"]
            self.findings.append(_helpless(error))
        self.prompts = {
            kind: [plain.prompt(text) for text in texts] for kind, texts in TEXTS.items()
        }

    async def look_at_engines(self) -> None:
        """Each engine that takes the model, one after the other."""
        prompts = self.prompts if self.options.speed else {}
        several = sum(exam.able for exam in self.exams) > 1 and not routing.chosen(self.facts)
        course = Course(self.facts, self.options.engine, self.reference, prompts, several)
        for at, exam in enumerate(self.exams):
            if not exam.able:
                continue
            self.say(f"engine {exam.name}")
            self.exams[at], found = await examine(exam, course)
            self.findings += found
            self.loaded = self.loaded or bool(self.exams[at].device)
            _give_back()
        self.findings += fastest_line(self.exams)

    def diagnosis(self) -> Diagnosis:
        """Everything, as it is shown."""
        return Diagnosis(
            model=self.facts.ref.uri,
            identity=self.facts.identity,
            status=worst(self.findings),
            loaded=self.loaded,
            findings=tuple(self.findings),
            routes=self.routes,
            engines=tuple(self.exams),
            versions=_versions(),
        )

    def _chart(self, fetched: bool) -> tuple[Chart | None, list[Notice]]:
        """None for what is no checkpoint in the format of transformers.

        With `fetched`, the weights are fetched, and a GGUF file is converted.
        """
        ref = self.facts.ref
        if ref.scheme not in ("hf", "file"):
            return None, []
        if fetched:
            files = locate(self.facts, convert)
            try:
                return read_chart(self.facts, files.model)
            finally:
                if files.lease is not None:
                    files.lease.release()
        return (None, []) if ref.gguf_file else read_chart(self.facts)


def _unloadable(error: BakeoffError) -> Finding:
    return Finding("load-failed", "problem", "loading", error.message, "correct what it says")


def _helpless(error: Exception) -> Finding:
    advice = "correct what it says; engines are not compared"
    return Finding("plain-fails", "problem", "plain transformers", one_line(error), advice)


def _carried_out(
    name: str, check: Callable[[Subject], Iterable[Finding]], subject: Subject
) -> Iterator[Finding]:
    """What a check finds; a check that breaks is a finding itself."""
    try:
        yield from check(subject)
    except Exception as error:  # a library, or a checkpoint's own code, may raise anything
        advice = "look at this part by hand"
        yield Finding("check-failed", "warning", f"check {name}", one_line(error), advice)


def _prompt(facts: ModelFacts, text: str) -> Prompt:
    chats = facts.capabilities.chat_template
    return Messages((Message("user", text),)) if chats else Text(text)


def _give_back() -> None:
    """Memory of what was just let go."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _versions() -> dict[str, str]:
    found = {"bakeoff": __version__}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
