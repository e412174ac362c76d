"""What `describe` and `route` say of a model, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.rows import Notice
from bakeoff.engines.doctor.diagnosis import EngineExam, Finding, Level, RouteTaken
from bakeoff.engines.doctor.faults import FAULTS

CHECKED = frozenset(
    {
        "bos-twice", "chat-template-fails", "generation-prompt-missing", "template-prints-none",
        "rope-settings-contradict", "unknown-config-key",
    }
)  # fmt: skip
"""Notices that the checks on a checkpoint's files say better."""
_KINDS = {"causal": "decoder-only", "seq2seq": "encoder-decoder", "encoder": "encoder"}
_HINT = "follow the hint, or name another model for this kind of request"
_ADVICE = {
    "unknown-generation-key": "correct the spelling, or take a newer transformers",
    "generation-setting-not-applied": "name another setting in the spec, or leave it",
    "bad-generation-setting": "correct the value in generation_config.json",
    "unused-weights": "check that `architectures` in config.json is the class that was saved",
    "chat-template-not-used": "name one of them default in the tokenizer's files",
}


def facts_lines(facts: ModelFacts) -> Iterator[Finding]:
    """Kind, architecture, window, settings."""
    can = facts.capabilities
    heads = f": {', '.join(sorted(can.heads))}" if can.heads else ""
    yield Finding("kind", "ok", "kind", _KINDS[can.kind] + heads, data=can.kind)
    if facts.architecture:
        yield Finding("architecture", "ok", "architecture", facts.architecture)
    window = can.context_length
    value = f"{window} tokens" if window else "no limit in the checkpoint"
    yield Finding("context-length", "ok", "context length", value, data=window)
    said = facts.defaults.said()
    shown = ", ".join(f"{k}={v} ({facts.origins.get(k, '?')})" for k, v in said.items())
    if can.kind != "encoder":
        yield Finding("decoding", "ok", "decoding settings", shown or "greedy", data=said)


def notice_lines(notices: Iterable[Notice], checked: bool) -> Iterator[Finding]:
    """Notices; those of a fault are warnings.

    Args:
        notices: what was noticed.
        checked: whether checks of their own look at what `CHECKED` names.
    """
    for notice in notices:
        if checked and notice.code in CHECKED:
            continue
        level: Level = "warning" if notice.code in FAULTS else "ok"
        advice = _ADVICE.get(notice.code, "")
        yield Finding(notice.code, level, "notice", notice.text, advice)


def route_lines(routes: Iterable[RouteTaken], chosen: bool) -> Iterator[Finding]:
    """A line for each engine and reason, with the kinds of request that go there.

    Args:
        routes: what was taken.
        chosen: whether the reference itself names an engine or its arithmetic: that it does not do
            everything is then no fault; that it does nothing is one all the same.
    """
    routes = list(routes)
    idle = all(one.engine is None for one in routes)
    groups: dict[tuple[str | None, str], list[str]] = {}
    for one in routes:
        groups.setdefault((one.engine, one.why), []).append(one.request)
    for (engine, why), requests in groups.items():
        asked = ", ".join(requests)
        value = f"{engine or 'none'} for {asked}: {why}"
        if engine is None and (idle or not chosen):
            yield Finding("no-engine", "problem", "engine taken", value, _HINT)
        else:
            yield Finding("route", "ok", "engine taken", value)


def engine_lines(exams: Iterable[EngineExam], opened: bool) -> Iterator[Finding]:
    """Engines that cannot run the model; and those that can, unless they are opened later."""
    for one in exams:
        if not one.able:
            yield Finding("engine", "ok", f"engine {one.name}", f"cannot run it: {one.why}")
        elif not opened:
            yield Finding("engine", "ok", f"engine {one.name}", "can run it")
