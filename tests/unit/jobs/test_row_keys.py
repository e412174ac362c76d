"""Rows share a journal line only where their answers would be the same."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.core.keys import Decoding, key_parts
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.requests import GenerationParams
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import ModelEntry, TaskSpec
from bakeoff.engines.route import Route
from bakeoff.jobs.contender import Contender
from bakeoff.jobs.plan import plan_row
from bakeoff.tasks import build_task
from tests.unit.tasks.models import CHAT, CLASSIFIER, NAMELESS

ROW = TaskRow(
    index=0,
    id="1",
    source="Two to one.",
    question="How?",
    context="Two to one.",
    choices=("two", "one"),
    cells={"source": "Two to one.", "question": "How?"},
)
TURNED = TaskRow(
    index=1, id="2", question="How?", choices=("one", "two"), cells={"question": "How?"}
)


def key(facts: ModelFacts, kind: str, row: TaskRow = ROW, **spec: Any) -> str:
    decoding = Decoding(GenerationParams(max_new_tokens=8, temperature=0.0), "refuse")
    contender = Contender(
        id="m",
        entry=ModelEntry(model="fake://echo"),
        facts=facts,
        task=build_task(TaskSpec(kind=kind, **spec)),
        decoding=decoding,
        origins={},
        route=Route("fake", ""),
        parts=key_parts(facts, decoding),
        measured_as="",
    )
    (planned,) = plan_row(contender, row, 1)
    assert planned.refused is None
    return planned.key


@pytest.mark.parametrize("facts", [CLASSIFIER, NAMELESS], ids=["named", "nameless"])
def test_labels_spell_the_answer_of_a_classifier(facts: ModelFacts) -> None:
    kind = "text-classification"
    spelled = [None, ("negative", "positive"), ("positive", "negative"), ("Negative", "Positive")]
    assert len({key(facts, kind, labels=labels) for labels in spelled}) == 4


def test_the_words_no_answer_count_or_not() -> None:
    said = {"kind": "question-answering", "template": "{{ question }}"}
    assert key(CHAT, no_answer=True, **said) != key(CHAT, no_answer=False, **said)


def test_a_letter_means_another_choice_in_another_order() -> None:
    said = {"kind": "multiple-choice", "method": "generate", "template": "{{ question }}"}
    assert key(CHAT, **said) != key(CHAT, row=TURNED, **said)


def test_the_kind_is_part_of_the_key() -> None:
    kinds = ("summarization", "text-generation", "question-answering")
    assert len({key(CHAT, kind, template="{{ question }}") for kind in kinds}) == 3


def test_the_place_of_a_row_is_not() -> None:
    again = TaskRow(index=7, id="8", source="Two to one.", cells={"source": "Two to one."})
    assert key(CHAT, "summarization") == key(CHAT, "summarization", row=again)
