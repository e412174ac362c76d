"""`Contender`: one model entry with everything resolved, before its weights are loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bakeoff.core.canonical import digest
from bakeoff.core.errors import InvalidSpec, ModelLoadFailed, UnsupportedOption
from bakeoff.core.keys import Decoding, KeyParts, key_parts
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.modelref import LoadOptions, ModelRef
from bakeoff.core.ports import Task
from bakeoff.core.requests import DEFAULT_MAX_NEW_TOKENS, GenerationParams, Truncate
from bakeoff.core.specs import ModelEntry, RunSpec
from bakeoff.engines import describe
from bakeoff.engines.route import Needs, Route, engine_and_version, route
from bakeoff.jobs.effective import Asked, effective

_USER = re.compile(r"//[^/@\s]+@")
GREEDY = GenerationParams(max_new_tokens=DEFAULT_MAX_NEW_TOKENS, temperature=0.0, num_beams=1)


@dataclass(frozen=True, slots=True)
class Contender:
    """A model of a run.

    Attributes:
        id: name in the run, and of its journal folder.
        entry: as the spec has it.
        facts: what is known without loading.
        task: shared by all contenders.
        decoding: resolved settings.
        origins: each setting -> where its value came from: `model entry`, `generation`, a part of
            the checkpoint, or `default`.
        route: the engine, and why.
        parts: shared part of the generation keys.
        measured_as: hash of all that a figure of speed hangs on: `parts`, task and prompt.
    """

    id: str
    entry: ModelEntry
    facts: ModelFacts
    task: Task
    decoding: Decoding
    origins: dict[str, str]
    route: Route
    parts: KeyParts
    measured_as: str


def model_ids(entries: Sequence[ModelEntry]) -> list[str]:
    """An id for each entry: the given one, else the last part of the reference.

    Raises:
        InvalidSpec: two entries end up with one id, or with ids that differ only in case, which
            are one folder on many machines.
    """
    ids: dict[str, str] = {}
    for number, entry in enumerate(entries):
        found = entry.id or _derived(entry)
        other = ids.setdefault(found.casefold(), found)
        if len(ids) <= number:
            called = f"{found!r}" if found == other else f"{other!r} and {found!r}"
            raise InvalidSpec(
                f"models[{number}]: two models are called {called}: give one of them an `id:`"
            )
    return list(ids.values())


def _derived(entry: ModelEntry) -> str:
    text = re.sub(_USER, "//", entry.model or entry.endpoint or "model")
    text = text.partition("@")[0].partition("?")[0]
    if text.startswith("baseline://column/"):
        return _safe(text.removeprefix("baseline://column/"))
    stem = text.rstrip("/").rsplit("/", 1)[-1]
    return _safe(stem.removesuffix(".gguf"))


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:100] or "model"


def model_ref(entry: ModelEntry, base: Path) -> ModelRef:
    """The parsed reference of an entry.

    Raises:
        InvalidSpec: it is none, or two fields of it disagree.
        UnsupportedOption: it names an endpoint, which this version does not speak to.
    """
    if entry.api_key is not None and not entry.api_key.startswith("env:"):
        raise InvalidSpec(
            "api_key: write env:NAME, the environment variable that holds the key; a spec is kept "
            "and shown, so the key itself must not stand in it"
        )
    if entry.endpoint:
        place = _without_password(entry.endpoint).partition("?")[0]
        raise UnsupportedOption(
            f"endpoint {place!r}: models behind an endpoint arrive in a later version; name a "
            "local model or hf://org/name",
            option="endpoint",
        )
    if entry.api_key is not None:
        raise UnsupportedOption(
            "api_key belongs to an `endpoint:`; a token for the Hub comes from HF_TOKEN",
            option="api_key",
        )
    options = {name: getattr(entry, name) for name in LoadOptions.model_fields}
    options["tokenizer"] = entry.tokenizer and _beside("tokenizer", entry.tokenizer, base)
    options["adapter"] = tuple(_beside("adapter", text, base) for text in entry.adapters) or None
    try:
        return ModelRef.parse(entry.model or "", base=base, **options)
    except (ValueError, RuntimeError) as problem:  # RuntimeError: an unknown ~user
        text = f"model {entry.model!r}: {_first_line(problem)}"
        raise InvalidSpec(_without_password(text)) from problem


def _beside(option: str, text: str, base: Path) -> str:
    """A tokenizer or adapter; a relative path is taken from the spec's folder."""
    try:
        return ModelRef.parse(text, base=base).uri
    except (ValueError, RuntimeError) as problem:
        raise InvalidSpec(f"{option} {text!r}: {_first_line(problem)}") from problem


def _without_password(text: str) -> str:
    return re.sub(_USER, "//***@", text)


def _first_line(problem: Exception) -> str:
    text = str(problem)
    match = re.search(r"Value error, (.*?)(?: \[type=|$)", text)
    return match[1] if match else text.split("\n")[0]


def make_contender(
    spec: RunSpec, entry: ModelEntry, model_id: str, task: Task, base: Path
) -> Contender:
    """Resolve one entry, reading configuration files alone.

    Raises:
        CallerError: the entry, or its combination with the task, is wrong.
        ModelError: the model does not exist or may not be read.
    """
    ref = model_ref(entry, base)
    try:
        facts = describe(ref, task.hints())
    except OSError as problem:
        raise ModelLoadFailed(
            f"{ref.uri} cannot be read: {problem.strerror or problem}"
        ) from problem
    task.check(facts, entry.prompt)
    params = _params(spec, entry, facts)
    if facts.capabilities.kind != "encoder":
        _check_together(model_id, params, facts)
    scored = task.needs_likelihood(facts)
    asked = Asked(entry.params(), spec.generation.params(), scored)
    params, idle = effective(params, asked, facts)
    facts = _told_overrides(facts, params)
    facts = replace(facts, notices=(*facts.notices, *idle))
    taken = route(facts, Needs(likelihood=scored, params=params))
    facts = replace(facts, numerics=taken.numerics or facts.numerics)
    decoding = Decoding(
        params=params,
        truncate=_truncate(spec, entry, facts),
        engine=engine_and_version(taken.engine) if spec.strict_engine else None,
    )
    return Contender(
        id=model_id,
        entry=entry,
        facts=facts,
        task=task,
        decoding=decoding,
        origins=_origins(spec, entry, facts, decoding.params),
        route=taken,
        parts=key_parts(facts, decoding),
        measured_as=_measured_as(spec, entry, key_parts(facts, decoding)),
    )


def _measured_as(spec: RunSpec, entry: ModelEntry, parts: KeyParts) -> str:
    prompt = None if entry.prompt is None else entry.prompt.model_dump(mode="json")
    task = spec.task.model_dump(mode="json", exclude={"reference_is"})  # it is not asked
    return digest([parts.digest, prompt, task])


def _told_overrides(facts: ModelFacts, params: GenerationParams) -> ModelFacts:
    """The checkpoint's settings as they are said to be applied, without those that are not."""
    own = [n for n, where in facts.origins.items() if where.startswith("task_specific_params")]
    lost = [n for n in own if getattr(facts.defaults, n) != getattr(params, n)]
    if not lost:
        return facts
    more = f"; the spec sets {', '.join(lost)} otherwise"
    notices = tuple(
        replace(one, text=one.text + more) if one.code == "task-specific-params" else one
        for one in facts.notices
    )
    return replace(facts, notices=notices)


def _origins(
    spec: RunSpec, entry: ModelEntry, facts: ModelFacts, params: GenerationParams
) -> dict[str, str]:
    """What won for each setting, in the order in which `_params` asks."""
    said = {
        **dict.fromkeys(params.said(), "default"),
        **facts.origins,
        **dict.fromkeys(spec.generation.params().said(), "generation"),
        **dict.fromkeys(entry.params().said(), "model entry"),
    }
    return {name: said[name] for name in params.said()}


def _params(spec: RunSpec, entry: ModelEntry, facts: ModelFacts) -> GenerationParams:
    said = entry.params().over(spec.generation.params())
    params = said.over(facts.defaults).over(GREEDY)
    if params.sampled and params.seed is None:
        params = GenerationParams(seed=0).over(params)
    return params


def _check_together(model_id: str, params: GenerationParams, facts: ModelFacts) -> None:
    """Refuse settings that exclude each other before anything is loaded."""
    beams, least, most = params.num_beams or 1, params.min_new_tokens, params.max_new_tokens

    def said(name: str) -> str:
        own = getattr(params, name) == getattr(facts.defaults, name)
        origin = f", from its {facts.origins[name]}" if own and name in facts.origins else ""
        return f"{name} ({getattr(params, name)}{origin})"

    if beams > 1 and params.sampled:
        raise InvalidSpec(
            f"{model_id}: {said('num_beams')} and {said('temperature')} exclude each other, since "
            "beams do not sample: set num_beams: 1, or temperature: 0"
        )
    if least is not None and most is not None and least > most:
        raise InvalidSpec(
            f"{model_id}: {said('min_new_tokens')} is more than {said('max_new_tokens')}: lower "
            "the one or raise the other"
        )


def _truncate(spec: RunSpec, entry: ModelEntry, facts: ModelFacts) -> Truncate:
    said = entry.truncate or spec.truncate
    return said or ("refuse" if facts.capabilities.kind == "causal" else "cut")


def in_epoch(contender: Contender, epoch: int) -> Contender:
    """The same contender under the keys of another epoch."""
    old = contender.decoding
    decoding = Decoding(old.params, old.truncate, old.engine, epoch)
    parts = key_parts(contender.facts, decoding)
    measured_as = digest([contender.measured_as, epoch]) if epoch else contender.measured_as
    return replace(contender, decoding=decoding, parts=parts, measured_as=measured_as)
