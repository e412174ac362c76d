"""What models read: instructions, turns, examples, continuations; and what never reaches them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bakeoff.core.errors import BadRow, UnsupportedOption
from bakeoff.core.modelfacts import ModelFacts
from bakeoff.core.ports import ScoreAsk
from bakeoff.core.requests import AnswerSpan, Classify, Messages, Source, Text, ZeroShot
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import ExampleSpec, PromptSpec, TaskSpec
from bakeoff.tasks import build_task
from tests.unit.tasks.models import (
    CHAT,
    CLASSIFIER,
    COLUMN,
    COPY,
    MULTILINGUAL,
    NLI,
    PLAIN,
    SEQ2SEQ,
    SILENT,
    SPANS,
    T5,
)

ROW = TaskRow(
    index=0,
    id="1",
    source="It rains.",
    question="Where does it rain?",
    context="It rains in Rome.",
    choices=("in Rome", "in Oslo"),
    cells={"title": "Weather", "said": "B", "none": None, "n": 3},
)
PAIR = {"source_language": "en", "target_language": "German"}
LABELS = ("good news", "bad news")


def read(kind: str, model: ModelFacts, prompt: PromptSpec | None = None, **spec: Any) -> Any:
    """What the model is given, in short: turns, text, or the encoder's input."""
    task = build_task(TaskSpec(kind=kind, **spec))
    task.check(model, prompt)
    first = task.ask(ROW, model, prompt)[0]
    found = first.context if isinstance(first, ScoreAsk) else first
    if isinstance(found, Messages):
        return [(m.role, m.content) for m in found.messages]
    return found.text if isinstance(found, Text) else found


def user(text: str) -> list[tuple[str, str]]:
    return [("user", text)]


SUMMARIZE = (
    "Summarize the following text in one or two sentences. Answer with the summary only."
    "\n\nIt rains."
)
TRANSLATE = (
    "Translate the following text from English to German. Answer with the translation only."
    "\n\nIt rains."
)
FIND = (
    "Answer the question with a few words taken from the text. If the text does not hold the "
    'answer, say "no answer".\n\nText: It rains in Rome.\n\nQuestion: Where does it rain?'
)
LABEL = (
    "Which of these labels fits the text: good news, bad news? Answer with the label only."
    "\n\nText: It rains."
)
LETTER = (
    "Answer the question with the letter of the right choice only.\n\nIt rains in Rome.\n\n"
    "Question: Where does it rain?\nA. in Rome\nB. in Oslo"
)
CLOZE = "It rains in Rome.\n\nQuestion: Where does it rain?"


@pytest.mark.parametrize(
    ("kind", "spec", "told", "cue"),
    [
        ("summarization", {}, SUMMARIZE, "Summary:"),
        ("translation", PAIR, TRANSLATE, "Translation:"),
        ("question-answering", {}, FIND, "Answer:"),
        ("text-classification", {"labels": LABELS}, LABEL, "Label:"),
        ("multiple-choice", {"method": "generate"}, LETTER, "Answer:"),
        ("multiple-choice", {}, CLOZE, "Answer:"),
    ],
)
def test_a_chat_model_is_told_and_a_plain_one_gets_a_cue(
    kind: str, spec: dict[str, Any], told: str, cue: str
) -> None:
    assert read(kind, CHAT, **spec) == user(told)
    assert read(kind, PLAIN, **spec) == f"{told}\n{cue}"
    assert read(kind, CHAT, mode="plain", **spec) == f"{told}\n{cue}"
    assert read(kind, CHAT, PromptSpec(mode="plain"), **spec) == f"{told}\n{cue}"
    plain_by_task = read(kind, CHAT, PromptSpec(mode="auto"), mode="plain", **spec)
    assert plain_by_task == user(told), "the model's own mode wins"


@pytest.mark.parametrize(
    ("kind", "model", "spec", "expected"),
    [
        ("text-generation", CHAT, {}, user("It rains.")),
        ("text-generation", PLAIN, {}, "It rains."),
        ("summarization", SEQ2SEQ, {}, Source("It rains.")),
        ("summarization", T5, {}, Source("summarize: It rains.")),
        ("translation", SEQ2SEQ, {}, Source("It rains.")),
        ("translation", MULTILINGUAL, PAIR, Source("It rains.", "eng_Latn", "deu_Latn")),
        (
            "question-answering",
            SEQ2SEQ,
            {},
            Source("question: Where does it rain? context: It rains in Rome."),
        ),
        ("text-classification", SEQ2SEQ, {"labels": LABELS}, Source(LABEL)),
        ("text-classification", T5, {"labels": LABELS}, Source("summarize: It rains.")),
        ("multiple-choice", SEQ2SEQ, {"method": "generate"}, Source(LETTER)),
        ("multiple-choice", SEQ2SEQ, {}, Source(CLOZE)),
        (
            "question-answering",
            SPANS,
            {},
            AnswerSpan("Where does it rain?", "It rains in Rome.", True),
        ),
        (
            "question-answering",
            SPANS,
            {"no_answer": False},
            AnswerSpan("Where does it rain?", "It rains in Rome.", False),
        ),
        ("text-classification", CLASSIFIER, {}, Classify("It rains.")),
        (
            "text-classification",
            NLI,
            {"labels": LABELS},
            ZeroShot("It rains.", LABELS, "This example is {}."),
        ),
        (
            "text-classification",
            NLI,
            {"labels": LABELS, "hypothesis": "It is {}!"},
            ZeroShot("It rains.", LABELS, "It is {}!"),
        ),
        ("summarization", COPY, {}, Source("It rains.")),
        (
            "summarization",
            COPY,
            {"template": "Now: {{ source }}", "system": "S"},
            Source("It rains."),
        ),
        ("question-answering", COPY, {}, Source("It rains in Rome.")),
        ("multiple-choice", COPY, {}, Source("Where does it rain?")),
        ("multiple-choice", COLUMN, {}, Source("in Oslo")),
        ("summarization", COLUMN, {}, Source("B")),
        ("custom", COPY, {"template": "{{ title }}"}, Source("It rains.")),
        (
            "custom",
            CHAT,
            {"template": "{{ title }}", "system": "S"},
            [("system", "S"), ("user", "Weather")],
        ),
        ("custom", PLAIN, {"template": "{{ title }}", "system": "S"}, "S\n\nWeather"),
        ("custom", T5, {"template": "{{ title }}"}, Source("Weather")),
        (
            "summarization",
            T5,
            {"template": "{{ title }}: {{ source }}"},
            Source("Weather: It rains."),
        ),
        (
            "translation",
            CHAT,
            {**PAIR, "template": "{{ source_language }}>{{ target_language }}: {{ source }}"},
            user("English>German: It rains."),
        ),
        (
            "text-classification",
            PLAIN,
            {"labels": LABELS, "template": "{{ labels | join('/') }}? {{ source }}"},
            "good news/bad news? It rains.",
        ),
    ],
)
def test_other_kinds_of_model(
    kind: str, model: ModelFacts, spec: dict[str, Any], expected: Any
) -> None:
    assert read(kind, model, **spec) == expected


def test_the_model_s_own_prompt_wins() -> None:
    own = PromptSpec(system="mine", template="{{ title }}!")
    found = read("summarization", CHAT, own, system="ours", template="{{ source }}")
    assert found == [("system", "mine"), ("user", "Weather!")]
    found = read("summarization", CHAT, PromptSpec(system=""), system="ours", template="x")
    assert found == user("x"), "an empty system prompt switches the task's off"


def test_examples_are_told_like_the_row() -> None:
    shots = PromptSpec(examples=(ExampleSpec(input="It snows.", output="Es schneit."),))
    told = TRANSLATE.removesuffix("It rains.")
    assert read("translation", CHAT, shots, **PAIR) == [
        ("user", f"{told}It snows."),
        ("assistant", "Es schneit."),
        ("user", f"{told}It rains."),
    ]
    assert read("translation", PLAIN, shots, system="S", **PAIR) == (
        f"S\n\n{told}It snows.\nTranslation: Es schneit.\n\nIt rains.\nTranslation:"
    )
    assert read("text-generation", PLAIN, shots) == "It snows.\nEs schneit.\n\nIt rains."
    shots = PromptSpec(
        template="EN: {{ source }}\nDE:",
        examples=(ExampleSpec(input="EN: It snows.\nDE:", output="Es schneit."),),
    )
    assert read("translation", PLAIN, shots) == (
        "EN: It snows.\nDE: Es schneit.\n\nEN: It rains.\nDE:"
    )


@pytest.mark.parametrize(
    ("model", "prompt", "lead"),
    [
        (CHAT, None, ""),
        (CHAT, PromptSpec(mode="plain"), " "),
        (PLAIN, None, " "),
        (PLAIN, PromptSpec(template="{{ source }}\nLabel: "), ""),
        (PLAIN, PromptSpec(template="{{ source }}\nLabel:"), " "),
        (SEQ2SEQ, None, ""),
    ],
)
@pytest.mark.parametrize("kind", ["text-classification", "multiple-choice"])
def test_continuations_begin_where_the_answer_does(
    kind: str, model: ModelFacts, prompt: PromptSpec | None, lead: str
) -> None:
    labels = {"labels": LABELS} if kind == "text-classification" else {}
    task = build_task(TaskSpec(kind=kind, **labels))
    task.check(model, prompt)
    asked = task.ask(ROW, model, prompt)
    expected = LABELS if labels else ROW.choices
    assert [a.continuation for a in asked if isinstance(a, ScoreAsk)] == [
        lead + text for text in expected
    ]
    assert len({a.context for a in asked if isinstance(a, ScoreAsk)}) == 1


def test_without_likelihoods_letters_and_labels_are_generated() -> None:
    assert read("multiple-choice", SILENT) == user(LETTER)
    assert read("text-classification", SILENT, labels=LABELS) == user(LABEL)


SHOTS = PromptSpec(examples=(ExampleSpec(input="a", output="b"),))


@pytest.mark.parametrize(
    ("kind", "spec", "model", "prompt", "option", "told"),
    [
        ("summarization", {}, SEQ2SEQ, PromptSpec(system="S"), "prompt.system", "prompt.template"),
        ("summarization", {}, SEQ2SEQ, SHOTS, "prompt.examples", "write it into prompt.template"),
        (
            "summarization",
            {"system": "S"},
            SEQ2SEQ,
            None,
            "task.system",
            "move it to prompt.system",
        ),
        ("summarization", {"mode": "chat"}, SEQ2SEQ, None, "task.mode", "no chat template"),
        ("summarization", {"mode": "chat"}, PLAIN, None, "task.mode", "write auto or plain"),
        ("summarization", {}, PLAIN, PromptSpec(mode="chat"), "prompt.mode", "no chat template"),
        ("summarization", {}, COPY, PromptSpec(system="S"), "prompt.system", "drop it"),
        ("summarization", {}, COPY, PromptSpec(template="x"), "prompt.template", "baseline"),
        ("summarization", {}, SPANS, None, "model", "cannot write text"),
        ("custom", {"template": "x"}, CLASSIFIER, None, "task.template", "reads none"),
        ("translation", PAIR, NLI, None, "model", "encoder-decoder model"),
        ("multiple-choice", {}, CLASSIFIER, None, "model", "cannot write text"),
        ("question-answering", {}, CLASSIFIER, None, "model", "...ForQuestionAnswering"),
        ("question-answering", {}, SPANS, PromptSpec(template="x"), "prompt.template", "drop it"),
        ("question-answering", {"template": "x"}, SPANS, None, "task.template", "move it"),
        ("question-answering", {"system": "x"}, SPANS, None, "task.system", "move it"),
        ("text-classification", {}, CHAT, None, "task.labels", "set task.labels"),
        ("text-classification", {}, NLI, None, "task.labels", "set task.labels"),
        ("text-classification", {}, SPANS, None, "model", "no classification head"),
        (
            "text-classification",
            {"labels": ("happy", "positive")},
            CLASSIFIER,
            None,
            "task.labels",
            "'happy': it knows NEGATIVE, POSITIVE",
        ),
        (
            "text-classification",
            {"labels": LABELS, "method": "likelihood"},
            SILENT,
            None,
            "task.method",
            "auto or generate",
        ),
        ("multiple-choice", {"method": "likelihood"}, SILENT, None, "task.method", "generate"),
        ("translation", {}, CHAT, None, "task.target_language", "set task.source_language"),
        ("translation", {}, MULTILINGUAL, None, "task.target_language", "knows 7 languages"),
        (
            "translation",
            {"source_language": "en", "target_language": "Frisian"},
            MULTILINGUAL,
            None,
            "task.target_language",
            "no token for 'Frisian' (Western Frisian)",
        ),
    ],
)
def test_what_would_be_lost_is_refused_by_name(
    kind: str,
    spec: dict[str, Any],
    model: ModelFacts,
    prompt: PromptSpec | None,
    option: str,
    told: str,
) -> None:
    task = build_task(TaskSpec(kind=kind, **spec))
    with pytest.raises(UnsupportedOption) as caught:
        task.check(model, prompt)
    assert caught.value.option == option
    assert told in caught.value.message
    assert model.ref.uri in caught.value.message


@pytest.mark.parametrize(
    ("spec", "row", "told"),
    [
        ({"kind": "summarization"}, TaskRow(0, "1", source="  \n"), "the source is empty"),
        ({"kind": "summarization"}, TaskRow(0, "1"), "the source is empty"),
        ({"kind": "question-answering"}, TaskRow(0, "1", question="q"), "the context is empty"),
        (
            {"kind": "multiple-choice"},
            TaskRow(0, "1", question="q", choices=("a",)),
            "at least two",
        ),
        ({"kind": "multiple-choice"}, TaskRow(0, "1", question="q", choices=("a", " ")), "blank"),
        (
            {"kind": "multiple-choice"},
            TaskRow(0, "1", question="q", choices=("a",) * 27),
            "at most",
        ),
        ({"kind": "multiple-choice"}, TaskRow(0, "1", choices=("a", "b")), "the question is empty"),
        (
            {"kind": "custom", "template": "{{ x }}"},
            TaskRow(0, "1", cells={"x": " "}),
            "empty text",
        ),
    ],
)
def test_bad_rows(spec: dict[str, Any], row: TaskRow, told: str) -> None:
    with pytest.raises(BadRow, match=told):
        build_task(TaskSpec(**spec)).ask(row, CHAT, None)


@pytest.mark.parametrize("model", [CHAT, PLAIN, SEQ2SEQ, COPY, SPANS, CLASSIFIER, COLUMN])
@pytest.mark.parametrize("template", [None, "Read {{ row['said'] }}"])
@pytest.mark.parametrize(
    ("kind", "row", "told"),
    [
        ("summarization", TaskRow(0, "1", source=" "), "the source is empty"),
        ("translation", TaskRow(0, "1", source=""), "the source is empty"),
        ("text-generation", TaskRow(0, "1"), "the source is empty"),
        ("text-classification", TaskRow(0, "1", source="\n"), "the source is empty"),
        ("question-answering", TaskRow(0, "1", context="c"), "the question is empty"),
        ("multiple-choice", TaskRow(0, "1", choices=("a", "b")), "the question is empty"),
        ("custom", TaskRow(0, "1", source=""), "the source is empty"),
    ],
)
def test_an_empty_source_is_a_bad_row_for_every_model_that_is_asked(
    kind: str, row: TaskRow, told: str, template: str | None, model: ModelFacts
) -> None:
    more = {"translation": PAIR, "text-classification": {"labels": ("POSITIVE", "NEGATIVE")}}
    spec = {"kind": kind, **more.get(kind, {})}
    task = build_task(TaskSpec(**spec, template="T {{ said }}" if kind == "custom" else None))
    prompt = PromptSpec(template=template)
    row = replace(row, cells={"said": "yes"})
    try:
        task.check(model, prompt)
    except UnsupportedOption:
        return
    if model is COLUMN:
        assert task.ask(row, model, prompt) == (Source("yes"),)
        return
    with pytest.raises(BadRow, match=told):
        task.ask(row, model, prompt)


def test_a_custom_template_needs_no_source() -> None:
    task = build_task(TaskSpec(kind="custom", template="T {{ said }}"))
    for model in (PLAIN, COPY):
        (ask,) = task.ask(TaskRow(0, "1", cells={"said": "yes"}), model, None)
        assert isinstance(ask, Text | Source) and ask.text == "T yes"


def test_a_baseline_column_without_a_value_is_a_bad_row() -> None:
    task = build_task(TaskSpec(kind="summarization"))
    with pytest.raises(BadRow, match="column 'said' has no value"):
        task.ask(TaskRow(0, "1", cells={"said": None}), COLUMN, None)
