"""What every registered task promises: refused before the run, or asked and answered."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import BadRow, CallerError, InvalidSpec, RowError
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.outputs import Completion, Labelled, Likelihood, Prediction, Span
from bakeoff.core.ports import Answer, Ask, ScoreAsk, Task
from bakeoff.core.requests import AnswerSpan, Classify, Messages, Source, Text, ZeroShot
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import ExampleSpec, PromptSpec, TaskSpec
from bakeoff.tasks import TASKS, build_task
from tests.unit.tasks.models import ALL

SPECS: dict[str, list[dict[str, Any]]] = {
    "summarization": [{}],
    "translation": [{}, {"source_language": "English", "target_language": "de"}],
    "text-generation": [{}],
    "question-answering": [{}, {"no_answer": False}],
    "text-classification": [
        {},
        {"labels": ("negative", "positive")},
        {"labels": ("sport", "politics", "art"), "method": "generate"},
        {"labels": ("negative", "positive"), "method": "likelihood"},
    ],
    "multiple-choice": [{}, {"method": "generate"}, {"method": "likelihood"}],
    "custom": [{"template": "{{ row['said'] }}?"}],
}
EVERYWHERE: list[dict[str, Any]] = [
    {},
    {"template": "Read: {{ source }}"},
    {"system": "Be brief."},
    {"mode": "chat"},
    {"mode": "plain"},
]
PROMPTS: list[PromptSpec | None] = [
    None,
    PromptSpec(),
    PromptSpec(system="S"),
    PromptSpec(template="T {{ source }}"),
    PromptSpec(examples=(ExampleSpec(input="i", output="o"),)),
    PromptSpec(mode="chat"),
    PromptSpec(mode="plain"),
]
ROW = TaskRow(
    index=0,
    id="1",
    source="The match ended two to one.",
    references=("one",),
    question="How did it end?",
    context="The match ended two to one.",
    choices=("two to one", "one to one"),
    cells={"said": "two to one", "source": "The match ended two to one."},
)


def specs(kind: str) -> list[TaskSpec]:
    return [TaskSpec(kind=kind, **{**own, **extra}) for own in SPECS[kind] for extra in EVERYWHERE]


def outcome(item: Any, likely: float) -> Completion | Likelihood | Prediction:
    match item:
        case ScoreAsk():
            assert item.continuation.strip()
            return Likelihood("r", (1,), (likely,), (1,))
        case AnswerSpan():
            return Prediction("r", Span("two", 16, 19, 0.9))
        case Classify():
            return Prediction("r", Labelled("POSITIVE", (("NEGATIVE", 0.1), ("POSITIVE", 0.9))))
        case ZeroShot():
            shares = tuple((label, 1 / len(item.labels)) for label in item.labels)
            return Prediction("r", Labelled(item.labels[0], shares))
        case Text() | Messages() | Source():
            return Completion("r", "two to one", FinishReason.STOP)
    raise AssertionError(f"unknown ask {item!r}")


def fits(ask: Ask, facts: ModelFacts) -> None:
    """Each item is of a kind that this model takes."""
    for item in ask:
        prompt = item.context if isinstance(item, ScoreAsk) else item
        if facts.capabilities.kind == "encoder":
            assert isinstance(prompt, (AnswerSpan, Classify, ZeroShot))
        elif facts.capabilities.kind == "seq2seq":
            assert isinstance(prompt, Source)
        elif facts.capabilities.chat_template:
            assert isinstance(prompt, (Messages, Text))
        else:
            assert isinstance(prompt, Text)
        if isinstance(item, ScoreAsk):
            assert facts.capabilities.likelihood


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("kind", TASKS)
def test_refused_before_the_run_or_asked_and_answered(kind: str, model: str) -> None:
    facts = ALL[model]
    for spec in specs(kind):
        task = build_task(spec)
        for prompt in PROMPTS:
            try:
                task.check(facts, prompt)
            except CallerError as problem:
                assert problem.code == "unsupported_option", (spec, prompt)
                assert facts.ref.uri in problem.message
            else:
                asked_and_answered(task, facts, prompt)


def asked_and_answered(task: Task, facts: ModelFacts, prompt: PromptSpec | None) -> None:
    ask = task.ask(ROW, facts, prompt)
    fits(ask, facts)
    assert ask == task.ask(ROW, facts, prompt), "the key of a row rests on it"
    scored = [isinstance(item, ScoreAsk) for item in ask]
    assert all(scored) == any(scored) == task.needs_likelihood(facts)
    answer = task.answer(ROW, [outcome(item, -float(n)) for n, item in enumerate(ask)])
    assert isinstance(answer, Answer) and answer.text


@pytest.mark.parametrize("kind", TASKS)
def test_every_kind_of_model_can_be_asked_something(kind: str) -> None:
    accepted = set()
    for own in SPECS[kind]:
        task = build_task(TaskSpec(kind=kind, **own))
        for name, facts in ALL.items():
            try:
                task.check(facts)
                accepted.add(name)
            except CallerError:
                pass
    assert {"chat", "plain", "seq2seq", "baseline", "baseline-column"} <= accepted
    assert ("embedder" in accepted) is False


@pytest.mark.parametrize("model", ALL)
@pytest.mark.parametrize("kind", TASKS)
def test_a_row_without_anything_is_a_bad_row(kind: str, model: str) -> None:
    task, facts = build_task(TaskSpec(kind=kind, **SPECS[kind][-1])), ALL[model]
    try:
        task.check(facts)
    except CallerError:
        return
    with pytest.raises(RowError) as caught:
        task.ask(TaskRow(index=0, id="1"), facts, None)
    assert isinstance(caught.value, BadRow) or kind == "custom"


@pytest.mark.parametrize("kind", TASKS)
def test_the_menu_is_complete(kind: str) -> None:
    task = build_task(TaskSpec(kind=kind, **SPECS[kind][-1]))
    assert task.kind == kind
    assert task.default_metrics and task.hints()
    roles = task.roles
    known = {"id", "source", "reference", "question", "context", "choices", "group"}
    assert set(roles.required) | set(roles.optional) <= known
    assert not set(roles.required) & set(roles.optional)
    assert set(roles.guesses) <= set(roles.required) | set(roles.optional)
    assert type(task).__doc__


@pytest.mark.parametrize("kind", TASKS)
def test_a_frozen_spec_builds_the_same_task(kind: str) -> None:
    spec = TaskSpec(kind=kind, **SPECS[kind][-1])
    again = build_task(TaskSpec(**spec.model_dump()))
    assert isinstance(again, Task) and again.kind == kind


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("summarization", "labels", ("a", "b")),
        ("summarization", "source_language", "en"),
        ("text-classification", "no_answer", False),
        ("question-answering", "method", "generate"),
        ("custom", "hypothesis", "{}"),
    ],
)
def test_fields_of_other_kinds_are_refused_by_name(kind: str, field: str, value: Any) -> None:
    with pytest.raises(InvalidSpec, match=rf"task\.{field} does not belong to {kind}"):
        build_task(TaskSpec(kind=kind, **{field: value}, template="x"))


@pytest.mark.parametrize("kind", TASKS)
def test_templates_find_their_columns_or_are_refused(kind: str) -> None:
    own = {**SPECS[kind][0], "template": "{{ headline }} {{ source }}"}
    task = build_task(TaskSpec(kind=kind, **own))
    task.check_columns(("headline", "text"), None)
    with pytest.raises(InvalidSpec, match="'headline', which is no column: did you mean 'headlin'"):
        task.check_columns(("headlin",), None)
    with pytest.raises(InvalidSpec, match=r"prompt\.template uses 'summry'"):
        task.check_columns(("headline",), PromptSpec(template="{{ summry }}"))
    task.check_columns(("text",), PromptSpec(template="{{ text }} {{ row['a b'] }}"))


@pytest.mark.parametrize("template", ["", "  \n", "{{ source", "{{ ''.__class__ }}"])
def test_a_wrong_prompt_template_is_found_by_check(template: str) -> None:
    task = build_task(TaskSpec(kind="summarization"))
    with pytest.raises(InvalidSpec, match=r"prompt\.template"):
        task.check(ALL["chat"], PromptSpec(template=template))
