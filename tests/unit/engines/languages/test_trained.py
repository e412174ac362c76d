"""Trained models do what they are told: the target language, the system prompt without a role."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest

from bakeoff.core.modelref import ModelRef
from bakeoff.core.outputs import Completion
from bakeoff.core.requests import GenerateRequest, GenerationParams, Source
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import TaskSpec
from bakeoff.engines import describe, open_engine
from bakeoff.engines.options import EngineOptions
from bakeoff.tasks import build_task
from tests import zoo
from tests.contract.targets import run
from tests.zoo import SYSTEMS, TRANSLATORS, expected, zoo_inputs, zoo_path

pytestmark = pytest.mark.torch
ROWS = 12
NAMES = {"en": "English", "de": "German"}


def answers(name: str, task: TaskSpec, texts: list[str]) -> tuple[list[str], list[GenerateRequest]]:
    """Texts of a model for a task, and what it was asked."""
    facts, built = describe(ModelRef.parse(str(zoo_path(name)))), build_task(task)
    built.check(facts)
    asks = [built.ask(TaskRow(n, str(n), source=t), facts, None)[0] for n, t in enumerate(texts)]
    params = GenerationParams(max_new_tokens=160)
    requests = [GenerateRequest(str(n), ask, params) for n, ask in enumerate(asks)]  # type: ignore[arg-type]

    async def work() -> list[str]:
        engine = await open_engine("transformers", facts, EngineOptions(threads=1))
        try:
            made = await engine.generate(requests)
        finally:
            await engine.close()
        return [one.text.strip() for one in made if isinstance(one, Completion)]

    return run(work()), requests


def likeness(made: list[str], wanted: list[str]) -> float:
    """How much texts are what they should be, 0 to 1; words in another language count as wrong."""
    pairs = zip(made, wanted, strict=True)
    found = [SequenceMatcher(None, a.split(), b.split(), autojunk=False).ratio() for a, b in pairs]
    return sum(found) / len(found)


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("name", TRANSLATORS)
def test_a_translator_writes_the_language_it_is_asked_for(name: str, target: str) -> None:
    texts = zoo_inputs(name, ROWS)
    other = "de" if target == "en" else "en"
    spec = TaskSpec(kind="translation", source_language=NAMES[other], target_language=NAMES[target])
    made, requests = answers(name, spec, texts)
    tags = TRANSLATORS[name]
    assert requests[0].prompt == Source(texts[0], tags[other], tags[target])
    right = likeness(made, [expected(name, text, language=target) for text in texts])
    wrong = likeness(made, [expected(name, text, language=other) for text in texts])
    assert right > 0.7 > 0.5 > wrong


@pytest.mark.skipif("gemma3" not in zoo.NAMES, reason="gemma3 is not trained yet")
@pytest.mark.parametrize("system", [s for s, language in SYSTEMS.items() if language == "de"])
def test_a_system_prompt_without_a_role_is_obeyed(system: str) -> None:
    texts = zoo_inputs("gemma3", ROWS)
    made, _ = answers("gemma3", TaskSpec(kind="text-generation", system=system), texts)
    assert likeness(made, [expected("gemma3", text, system) for text in texts]) > 0.7
    plain, _ = answers("gemma3", TaskSpec(kind="text-generation"), texts)
    assert likeness(plain, [expected("gemma3", text) for text in texts]) > 0.7
