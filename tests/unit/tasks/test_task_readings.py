"""How references name labels and choices: decided once, from all rows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from bakeoff.core.errors import InvalidSpec
from bakeoff.core.ports import Settled
from bakeoff.core.rows import TaskRow
from bakeoff.core.specs import Reading, TaskSpec
from bakeoff.tasks import build_task
from bakeoff.tasks.readings import LETTERS, Cell, Census, ColumnReading, Tally
from tests.support import scale

CHOICE = TaskSpec(kind="multiple-choice")
FIVE = ("1", "2", "3", "4", "5")
STARS = TaskSpec(kind="text-classification", labels=FIVE)
WORDS = ("dog", "cat", "owl", "eel")


def rows(answers: Sequence[str | int], choices: Sequence[str] = WORDS) -> list[TaskRow]:
    return [
        TaskRow(
            at,
            str(at),
            source="s",
            question="q",
            references=(str(answer),),
            choices=tuple(choices),
            numeric=isinstance(answer, int),
        )
        for at, answer in enumerate(answers)
    ]


def settled(spec: TaskSpec, data: Sequence[TaskRow]) -> Settled:
    return build_task(spec).settled(data, (), ())


def read(spec: TaskSpec, data: Sequence[TaskRow]) -> list[str | None]:
    task = settled(spec, data).task
    return [next(iter(task.references(row)), None) for row in data]


@pytest.mark.parametrize(
    ("answers", "right"),
    [
        (["cat", "Owl", "dog"], ["cat", "owl", "dog"]),
        ([1, 0, 3], ["cat", "dog", "eel"]),
        (["1", "0", "3"], ["cat", "dog", "eel"]),
        (["1", "4", "2"], ["dog", "eel", "cat"]),
        ([1, 2], ["cat", "owl"]),
        (["B", "a", "D"], ["cat", "dog", "eel"]),
        (["B", "owl", "x"], ["cat", "owl", None]),
        (["1", "owl", "0"], ["cat", "owl", "dog"]),
        ([0, "owl", "C", 1], ["dog", "owl", "owl", "cat"]),
        (["1.0", "0.0"], ["cat", "dog"]),
        (["-1", "0", "9"], [None, "dog", None]),
        (["ﬆ", "A", "B"], [None, "dog", "cat"]),
    ],
)
def test_choices_by_text_number_or_letter(
    answers: list[str | int], right: list[str | None]
) -> None:
    assert read(CHOICE, rows(answers)) == right


@pytest.mark.parametrize("form", [int, str])
@pytest.mark.parametrize(
    ("answers", "right"),
    [
        ([0, 1, 2, 3, 4], ["1", "2", "3", "4", "5"]),
        ([1, 2, 3, 4, 5], ["1", "2", "3", "4", "5"]),
        ([0, 0, 1], ["1", "1", "2"]),
        ([5, 5, 1], ["5", "5", "1"]),
        ([0, 5, 5], [None, "5", "5"]),
    ],
)
def test_labels_that_are_numbers(
    form: type[int] | type[str], answers: list[int], right: list[str | None]
) -> None:
    assert read(STARS, rows([form(answer) for answer in answers])) == right


def test_labels_that_are_their_own_places_need_no_decision() -> None:
    spec = TaskSpec(kind="text-classification", labels=("0", "1", "2"))
    for answers in ([1, 1], [1, 2], [0, 2]):
        assert read(spec, rows(answers)) == [str(answer) for answer in answers]


@pytest.mark.parametrize(
    ("spec", "answers", "choices", "said"),
    [
        (STARS, [1, 2, 3], (), "set task.reference_is to text or index-from-0"),
        (STARS, ["1", "2"], (), "'1' in row 1 is '1' by its text and '2' as a number from 0"),
        (STARS, [0, 5], (), "(1 of 2) and not the same: '0' in row 1 is nothing by its text"),
        (CHOICE, ["2", "1"], FIVE, "set task.reference_is to text or index-from-0"),
        (CHOICE, ["B", "A"], ("B", "A", "O"), "'B' in row 1 is 'B' by its text and 'A' as"),
        (CHOICE, ["3", "1"], ("2", "3", "1"), "set task.reference_is to text or index-from-1"),
    ],
)
def test_what_the_rows_leave_open_is_refused(
    spec: TaskSpec, answers: list[str | int], choices: Sequence[str], said: str
) -> None:
    with pytest.raises(InvalidSpec) as caught:
        settled(spec, rows(answers, choices))
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("way", "right"),
    [
        ("text", ["1", "2", None, None]),
        ("index-from-0", ["2", "3", "1", None]),
        ("index-from-1", ["1", "2", None, None]),
        ("letter", ["1", "2", None, "2"]),
    ],
)
def test_the_spec_decides(way: Reading, right: list[str | None]) -> None:
    spec = TaskSpec(kind="multiple-choice", reference_is=way)
    data = rows(["1", "2", "0", "B"], ("1", "2", "3"))
    assert read(spec, data) == right
    found = settled(spec, data)
    assert found.spec == spec
    assert {notice.code for notice in found.notices} <= {"references-unknown"}


def test_what_was_found_is_said_and_kept() -> None:
    found = settled(CHOICE, rows([1, 2, 1]))
    (notice,) = found.notices
    assert notice.text == (
        "3 of 3 references are read as numbers from 0 (none is 0: they may count from 1); set "
        "task.reference_is to read them otherwise"
    )
    assert found.spec is not None
    assert found.spec.reference_is == "index-from-0"
    again = build_task(found.spec).settled(rows([1, 2, 1]), (), ())
    assert (again.notices, again.spec) == ((), found.spec)
    assert settled(CHOICE, rows(["dog"])).notices == ()


def test_a_column_of_numbers_and_texts_is_left_to_the_rows() -> None:
    found = settled(CHOICE, rows([0, 1, "owl"]))
    assert found.spec is not None
    assert found.spec.reference_is == "auto"
    assert "2 of 2 references are read as numbers from 0" in found.notices[0].text


def test_references_that_name_nothing_are_counted() -> None:
    answers = ["dog", "dgo", "dgo", "owlet", "x" * 90, "more", "cat"]
    (notice,) = settled(CHOICE, rows(answers)).notices
    assert (notice.code, notice.rows) == ("references-unknown", 5)
    assert notice.text == (
        "5 of 7 references name no choice of their row and count as none: 'dgo', 'owlet', "
        f"'{'x' * 39}…', ..."
    )
    (one,) = settled(CHOICE, rows(["dog", "dgo"])).notices
    assert one.text == "1 of 2 references names no choice of its row and counts as none: 'dgo'"


def test_rows_that_cannot_be_asked_decide_nothing() -> None:
    assert settled(CHOICE, rows(["0", "7"], ())).notices == ()
    assert read(CHOICE, rows(["0"], ())) == [None]


def test_the_task_itself_does_not_change() -> None:
    task = build_task(CHOICE)
    data = rows([1, 4])
    assert task.settled(data, (), ()).task.references(data[0]) == ("dog",)
    assert task.references(data[0]) == ("cat",)
    plain = build_task(TaskSpec(kind="text-classification"))
    assert plain.settled(data, (), ()).task is plain


def test_rows_are_read_once_and_nothing_is_kept_of_them() -> None:
    def endless() -> Iterator[TaskRow]:
        for at in range(scale(20_000)):
            yield rows([f"word {at}"])[0]
        yield rows(["dog"])[0]

    (notice,) = build_task(CHOICE).settled(endless(), (), ()).notices
    assert notice.rows == scale(20_000)
    tally = Tally(("text", "letter"))
    for row in endless():
        tally.add(Cell(row.references[0]), row.choices)
    assert sum(map(len, tally.unknown.values())) == 8
    assert len(tally.clashes) == 0


@pytest.mark.parametrize("seed", range(scale(200)))
def test_a_consistent_column_is_read_right_or_refused(seed: int) -> None:
    """Whatever the choices look like, no right answer is ever taken for another one."""
    rng = random.Random(seed)
    pool = [*FIVE, *"ABCDE", "0", "E. coli", "B. subtilis", "two"]
    way: Reading = rng.choice(("text", "index-from-0", "index-from-1", "letter"))
    number = way.startswith("index") and rng.random() < 0.5
    census = Census(("text", "index-from-0", "index-from-1", "letter"))
    cells: list[tuple[Cell, tuple[str, ...], str]] = []
    for at in range(60):
        choices = tuple(rng.sample(pool, 4))
        place = at % 4
        said = {
            "text": choices[place],
            "index-from-0": str(place),
            "index-from-1": str(place + 1),
            "letter": LETTERS[place],
        }[way]
        cells.append((Cell(said, number), choices, choices[place]))
        census.add(*cells[-1][:2])
    tally = census.numbers if number else census.texts
    assert tally.likely() == (way,)
    reading = ColumnReading(way, way)
    assert [reading.option(cell, choices) for cell, choices, _ in cells] == [c[2] for c in cells]
