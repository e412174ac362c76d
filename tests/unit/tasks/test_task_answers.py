"""From what a model says to a prediction, and from what the data holds to a reference."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

import pytest

from bakeoff.core.codes import FinishReason
from bakeoff.core.errors import EngineFailed, InvalidSpec
from bakeoff.core.outputs import Completion, Labelled, Likelihood, Prediction, Span
from bakeoff.core.requests import Source
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import TaskSpec
from bakeoff.tasks import build_task
from bakeoff.tasks.choosing import match_option
from tests.unit.tasks.models import COLUMN

CHOICES = ("a red cat", "a dog", "a cat")
ROW = TaskRow(0, "1", question="Which?", choices=CHOICES)
SENTIMENT = TaskSpec(kind="text-classification", labels=("negative", "positive", "not positive"))


def said(text: str) -> Completion:
    return Completion("r", text, FinishReason.STOP)


def likely(*totals: float) -> list[Likelihood]:
    return [Likelihood("r", (1,), (total,), (1,)) for total in totals]


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("B", "a dog"),
        (" b", "a dog"),
        ("(B)", "a dog"),
        ("**B**", "a dog"),
        ("B.", "a dog"),
        ("B. a dog", "a dog"),
        ("B) because it barks", "a dog"),
        ("The answer is B", "a dog"),
        ("The correct answer is: (C).", "a cat"),
        ("Answer: C", "a cat"),
        ("A dog", "a dog"),
        ("a dog", "a dog"),
        ("It is a dog, I think", "a dog"),
        ("It is a red cat", "a red cat"),
        ("A", "a red cat"),
        ("B\nQuestion: more?", "a dog"),
        ("A bird", None),
        ("E", None),
        ("a dog or a cat", None),
        ("", None),
        ("...", None),
    ],
)
def test_which_choice_a_text_names(text: str, chosen: str | None) -> None:
    answer = build_task(TaskSpec(kind="multiple-choice", method="generate")).answer(
        ROW, [said(text)]
    )
    assert answer.text == (chosen or text.strip())
    assert answer.extra == {"said": text, "matched": chosen is not None}


GERMS = ("E. coli", "C. elegans", "A. thaliana")
GROUPS = ("B", "A", "O")


@pytest.mark.parametrize(
    ("choices", "text", "chosen"),
    [
        (GERMS, "A. thaliana", "A. thaliana"),
        (GERMS, " a. Thaliana.\nQuestion: more?", "A. thaliana"),
        (GERMS, "A. thaliana, since it is a plant", "A. thaliana"),
        (GERMS, "The answer is C. elegans", "C. elegans"),
        (GERMS, "A", "E. coli"),
        (GERMS, "A.", "E. coli"),
        (GERMS, "A. E. coli", "E. coli"),
        (GERMS, "B. C. elegans", "C. elegans"),
        (GERMS, "The answer is C.", "A. thaliana"),
        (GERMS, "A. lyrata", "E. coli"),
        (GROUPS, "B", "B"),
        (GROUPS, "o", "O"),
        (("one", "C", "two"), "C", "C"),
        (("naïve", "sober"), unicodedata.normalize("NFD", "Naïve."), "naïve"),
        (("naïve", "sober"), unicodedata.normalize("NFD", "a naïve one"), "naïve"),
    ],
)
def test_a_choice_s_own_text_comes_before_letters(
    choices: tuple[str, ...], text: str, chosen: str
) -> None:
    row = TaskRow(0, "1", question="Which?", choices=choices)
    answer = build_task(TaskSpec(kind="multiple-choice")).answer(row, [said(text)])
    assert (answer.text, answer.extra["matched"]) == (chosen, True)


@pytest.mark.parametrize(
    ("choices", "held", "payload"),
    [
        (GROUPS, "B", "B"),
        (GROUPS, "C", "O"),
        (GROUPS, 0, "B"),
        (GERMS, "A. thaliana", "A. thaliana"),
        (GERMS, "b", "C. elegans"),
        (GERMS, "mouse", "mouse"),
    ],
)
def test_a_baseline_s_column_is_read_once(
    choices: tuple[str, ...], held: Any, payload: str
) -> None:
    task = build_task(TaskSpec(kind="multiple-choice"))
    row = TaskRow(0, "1", question="Which?", choices=choices, cells={"said": held})
    assert task.ask(row, COLUMN, None) == (Source(payload),)
    assert task.answer(row, [said(payload)]).text == payload


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("positive", "positive"),
        (" Positive.\n", "positive"),
        ("negative\n\nText: more", "negative"),
        ('The label is "negative".', "negative"),
        ("not positive", "not positive"),
        ("It is not positive at all", "not positive"),
        ("positive or negative", None),
        ("positively", None),
        ("", None),
    ],
)
def test_which_label_a_text_names(text: str, label: str | None) -> None:
    answer = build_task(SENTIMENT).answer(ROW, [said(text)])
    assert answer.text == (label or text.strip())
    assert answer.extra["matched"] is (label is not None)


def test_labels_in_scripts_without_blanks() -> None:
    assert match_option("这是体育新闻。", ("体育", "政治")) == "体育"
    assert match_option("体育和政治", ("体育", "政治")) is None


def test_the_most_likely_wins_and_the_first_of_equals() -> None:
    task = build_task(TaskSpec(kind="multiple-choice"))
    answer = task.answer(ROW, likely(-4.0, -2.5, -2.0))
    assert answer.text == "a cat"
    assert answer.extra["per_character"] == "a cat"
    assert sum(answer.extra["probabilities"]) == pytest.approx(1)
    assert answer.extra["loglikelihoods"] == [-4.0, -2.5, -2.0]
    assert task.answer(ROW, likely(-3.0, -2.5, -2.0)).extra["per_character"] == "a red cat"
    assert task.answer(ROW, likely(-1.0, -1.0, -1.0)).text == "a red cat"
    assert task.answer(ROW, likely(-math.inf, -2.0, -9.0)).text == "a dog"
    with pytest.raises(EngineFailed, match="not a number"):
        task.answer(ROW, likely(math.nan, -1.0, -1.0))


def test_equal_choices_have_a_share_each() -> None:
    row = TaskRow(0, "1", question="q", choices=("yes", "yes", "no"))
    answer = build_task(TaskSpec(kind="multiple-choice")).answer(row, likely(-1.0, -1.0, -1.0))
    assert answer.extra["probabilities"] == pytest.approx([1 / 3] * 3)
    assert answer.text == "yes"


def test_labels_have_their_shares_by_name() -> None:
    answer = build_task(SENTIMENT).answer(ROW, likely(-1.0, -2.0, -3.0))
    assert list(answer.extra["probabilities"]) == list(SENTIMENT.labels or ())
    assert sum(answer.extra["probabilities"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("reference", "right"),
    [
        ("a dog", ("a dog",)),
        ("A Dog ", ("a dog",)),
        ("1", ("a dog",)),
        ("B", ("a dog",)),
        ("b", ("a dog",)),
        ("3", ()),
        ("D", ()),
        ("a bird", ()),
    ],
)
def test_the_right_choice_however_the_data_names_it(reference: str, right: tuple[str, ...]) -> None:
    row = TaskRow(0, "1", question="q", choices=CHOICES, references=(reference,))
    assert build_task(TaskSpec(kind="multiple-choice")).references(row) == right


def test_a_choice_that_is_a_number_is_taken_as_text_first() -> None:
    row = TaskRow(0, "1", question="q", choices=("3", "1", "0"), references=("0",))
    assert build_task(TaskSpec(kind="multiple-choice")).references(row) == ("0",)


@pytest.mark.parametrize(
    ("reference", "right"),
    [("1", "positive"), ("Positive", "positive"), ("1.0", "positive"), ("7", None), ("-1", None)],
)
def test_labels_by_number(reference: str, right: str | None) -> None:
    row = TaskRow(0, "1", source="s", references=(reference,))
    assert build_task(SENTIMENT).references(row) == (() if right is None else (right,))
    own = build_task(TaskSpec(kind="text-classification"))
    assert own.references(row) == (reference,)


def test_a_classifier_s_labels_are_spelled_as_the_task_s() -> None:
    task = build_task(TaskSpec(kind="text-classification", labels=("negative", "positive")))
    for own in (("NEGATIVE", "POSITIVE"), ("LABEL_0", "LABEL_1")):
        found = Labelled(own[1], ((own[0], 0.25), (own[1], 0.75)))
        answer = task.answer(ROW, [Prediction("r", found)])
        assert answer.text == "positive"
        assert answer.extra == {"probabilities": {"negative": 0.25, "positive": 0.75}}
    plain = build_task(TaskSpec(kind="text-classification"))
    assert plain.answer(ROW, [Prediction("r", found)]).text == "LABEL_1"


@pytest.mark.parametrize(
    ("text", "no_answer", "prediction"),
    [
        ("no answer", True, ""),
        ('"No answer."', True, ""),
        ("no answer", False, "no answer"),
        (" Rome", True, " Rome"),
        ("There is no answer here", True, "There is no answer here"),
    ],
)
def test_no_answer(text: str, no_answer: bool, prediction: str) -> None:
    task = build_task(TaskSpec(kind="question-answering", no_answer=no_answer))
    assert task.answer(ROW, [said(text)]).text == prediction
    assert task.blank_is_answer is no_answer


def test_a_span_keeps_its_place() -> None:
    task = build_task(TaskSpec(kind="question-answering"))
    answer = task.answer(ROW, [Prediction("r", Span("Rome", 12, 16, 0.8, 0.1))])
    assert answer.text == "Rome"
    assert answer.extra == {"start": 12, "end": 16, "score": 0.8, "no_answer": 0.1}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"kind": "text-classification", "labels": ("a",)}, "at least two"),
        ({"kind": "text-classification", "labels": ("a", "A")}, "names one twice"),
        ({"kind": "text-classification", "labels": ("é", "e\u0301")}, "names one twice"),
        ({"kind": "text-classification", "labels": ("a", " ")}, "blank"),
        ({"kind": "text-classification", "reference_is": "text"}, "set task.labels"),
        (
            {"kind": "text-classification", "labels": ("a", "b"), "reference_is": "letter"},
            "belongs to multiple-choice",
        ),
        ({"kind": "text-classification", "method": "likelihood"}, "needs task.labels"),
        ({"kind": "text-classification", "hypothesis": "It is {}"}, "set task.labels"),
        ({"kind": "text-classification", "labels": ("a", "b"), "hypothesis": "It"}, "needs {}"),
        ({"kind": "custom"}, "needs `template:`"),
        ({"kind": "custom", "template": " "}, "is empty"),
        ({"kind": "translation", "source_language": "de"}, "needs both"),
    ],
)
def test_wrong_specs(spec: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        build_task(TaskSpec(**spec))
    assert told in caught.value.message
